//! Texts that people read in files other than Markdown and Rust: schemas, descriptions in YAML and TOML, comments, HTML.

use regex::Regex;
use serde_json::Value;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// Every title and description of a JSON schema, with its path.
pub(crate) fn descriptions(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "description" || key == "title" => {
                        found.push((path.to_owned(), text.replace('\n', " ")));
                    }
                    _ => descriptions(value, &format!("{path}/{key}"), found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| descriptions(value, path, found)),
        _ => {}
    }
}

/// The names and descriptions of a YAML file, which may be folded over several lines.
pub(crate) fn yaml(text: &str) -> Vec<(usize, String)> {
    let start = pattern(r"^(\s*(?:- )?)(?:name|description): *(.*)$");
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(begin) = start.captures(line) else { continue };
        let depth = begin[1].len();
        let deeper = |line: &&&str| line.len() - line.trim_start().len() > depth;
        let folded = lines[at + 1..].iter().take_while(deeper).map(|line| line.trim());
        let first = begin[2].trim().trim_start_matches(['>', '|']).trim_start_matches('-').trim();
        found.push((at + 1, [first].into_iter().chain(folded).collect::<Vec<_>>().join(" ").trim().to_owned()));
    }
    found
}

/// The comments of a file that begin with `#`, one paragraph for each run of lines up to a full stop at the end of one.
pub(crate) fn comments(text: &str) -> Vec<(usize, String)> {
    let comment = pattern(r"(?:^|\s)#+ (.*)$");
    let (mut found, mut open, mut start) = (Vec::new(), Vec::<String>::new(), 0);
    for (at, line) in text.lines().chain([""]).enumerate() {
        let words = comment.captures(line).map(|words| words[1].trim().to_owned());
        let whole = line.trim_start().starts_with('#');
        let ended = open.last().is_some_and(|last| last.ends_with(['.', ':']));
        if (!whole || words.is_none() || ended) && !open.is_empty() {
            found.push((start, std::mem::take(&mut open).join(" ")));
        }
        match words {
            Some(words) if whole => {
                if open.is_empty() {
                    start = at + 1;
                }
                open.push(words);
            }
            Some(words) => found.push((at + 1, words)),
            None => {}
        }
    }
    found
}

/// The strings of one key in a TOML file.
pub(crate) fn strings(text: &str, key: &str) -> Vec<(usize, String)> {
    let entry = pattern(&format!(r#"^{key} = "(.*)"$"#));
    let line = |(at, line)| entry.captures(line).map(|found| (at + 1, found[1].to_owned()));
    text.lines().enumerate().filter_map(line).collect()
}

/// The texts of an HTML page: between tags, in titles, and in the strings of its script.
pub(crate) fn html(page: &str) -> Vec<(usize, String)> {
    let text = pattern(r#""((?:[^"\\\n]|\\.)*)"|`([^`]*)`|>([^<>{}=;]+)<"#);
    let mut found = Vec::new();
    let mut style = false;
    for (at, line) in page.lines().enumerate() {
        style = (style || line.contains("<style")) && !line.contains("</style");
        if style {
            continue;
        }
        for part in text.captures_iter(line) {
            let words = (1..=3).find_map(|group| part.get(group)).map_or("", |words| words.as_str());
            if words.split_whitespace().count() > 1 {
                found.push((at + 1, words.trim().to_owned()));
            }
        }
    }
    found
}

/// Headings and table rows of Markdown, without fenced code.
pub(crate) fn headings(markdown: &str) -> Vec<(usize, String)> {
    let mut fence: Option<String> = None;
    let mut found = Vec::new();
    for (at, line) in markdown.lines().enumerate() {
        let line = line.trim();
        let marks: String = line.chars().take_while(|&sign| sign == '`').collect();
        match &fence {
            Some(end) if line == end => fence = None,
            None if marks.len() >= 3 => fence = Some(marks),
            None if line.starts_with(['#', '|']) => found.push((at + 1, line.trim_matches(['#', '|', ' ']).to_owned())),
            _ => {}
        }
    }
    found
}

#[test]
fn texts_are_found_in_their_files() {
    let yaml = yaml("name: a b\ninputs:\n  x:\n    description: >-\n      One two\n      three.\n    default: no\n");
    assert_eq!(yaml, [(1, "a b".to_owned()), (4, "One two three.".to_owned())]);
    let comments = comments("# One\n# two\nkey: 1 # three\n#\n# four\n");
    assert_eq!(comments, [(1, "One two".to_owned()), (3, "three".to_owned()), (5, "four".to_owned())]);
    assert_eq!(strings("a = \"x\"\nmeans = \"one two\"\n", "means"), [(2, "one two".to_owned())]);
    assert_eq!(html("<style>\na { b: \"c d\" }\n</style>\n<p title=\"one two\">three four</p>\n").len(), 2);
    assert_eq!(headings("# One\n```\n# no\n```\n| two |\n"), [(1, "One".to_owned()), (5, "two".to_owned())]);
    let mut found = Vec::new();
    descriptions(&serde_json::json!({"title": "a", "x": [{"description": "b"}]}), "", &mut found);
    assert_eq!(found, [(String::new(), "a".to_owned()), ("/x".to_owned(), "b".to_owned())]);
}
