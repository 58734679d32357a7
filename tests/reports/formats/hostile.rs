//! Texts that try to be more than text, in every format.

use imagelint::report::model::Report;
use serde_json::Value;

use crate::formats::{full, json, rendered_report, xml};

/// What somebody might call a file, a pool or a package.
const HOSTILE: &str = "x\u{1b}]0;t\u{7}\u{1b}[31m\n::error::owned%0A\r\n##[add-mask]x]]>--><script>alert(1)</script>\
    <img src=x onerror=y>|`a`|``b|[l](https://e.example/?a=b&c)@all #1,line=9,title=z::q\u{202e}\u{0}\u{ffff}\u{2028}\"'\\{{data}}";

/// The report with such a text wherever one comes from outside.
fn hostile() -> Report {
    fn poison(value: &mut Value, key: &str) {
        const OUTSIDE: &[&str] = &[
            "name",
            "message",
            "path",
            "label",
            "help",
            "pool",
            "rule",
            "title",
            "input",
            "stage",
            "text",
            "cite",
            "supply",
            "notes",
            "not_seen",
            "pools",
            "replacement",
            "gpu",
            "driver",
            "launch",
            "source",
        ];
        match value {
            Value::String(text) if OUTSIDE.contains(&key) => text.push_str(HOSTILE),
            Value::Array(list) => list.iter_mut().for_each(|one| poison(one, key)),
            Value::Object(map) => map.iter_mut().for_each(|(key, one)| poison(one, key)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(full()).expect("a value");
    poison(&mut value, "");
    serde_json::from_value(value).expect("a report")
}

#[test]
fn nothing_hostile_reaches_a_terminal() {
    let report = hostile();
    for format in
        ["concise", "ndjson", "sarif", "github", "gitlab", "rdjsonl", "checkstyle", "junit", "markdown", "html"]
    {
        let text = rendered_report(format, &report);
        let bad = text.chars().find(|c| *c != '\n' && (c.is_control() || "\u{202e}\u{2028}".contains(*c)));
        assert_eq!(bad, None, "{format}");
        assert!(text.contains("alert(1)"), "{format} tells it all the same");
    }
}

#[test]
fn nothing_hostile_is_a_command_to_a_runner() {
    let report = hostile();
    let github = rendered_report("github", &report);
    assert_eq!(github.lines().count(), 3, "{github}");
    for line in github.lines() {
        let (command, rest) = line.split_once(" file=").expect("a command");
        assert!(["::error", "::warning"].contains(&command), "{line}");
        let (properties, _) = rest.split_once("::").expect("a message");
        let names: Vec<&str> = properties.split(',').skip(1).filter_map(|one| Some(one.split_once('=')?.0)).collect();
        let known = ["line", "endLine", "col", "endColumn", "title"];
        assert!(names == known || names == ["title"], "{names:?}");
    }
    let mut report = report;
    report.errors[0].input = "::error::x ##[error]y".to_owned();
    report.errors[0].location = None;
    let concise = rendered_report("concise", &report);
    assert_eq!(concise.lines().count(), 3);
    for line in concise.lines() {
        assert!(!line.trim_start().starts_with("::") && !line.starts_with("##["), "{line}");
    }
}

#[test]
fn hostile_text_stays_inside_its_string_or_element() {
    let report = hostile();
    let sarif = json(&rendered_report("sarif", &report));
    for result in sarif["runs"][0]["results"].as_array().expect("results") {
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().expect("a URI");
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte);
        assert!(uri.bytes().all(allowed), "{uri}");
        assert!(!result["message"]["text"].as_str().expect("words").contains("]("), "no link");
    }
    assert_eq!(json(&rendered_report("gitlab", &report)).as_array().map(Vec::len), Some(3));
    assert_eq!(rendered_report("rdjsonl", &report).lines().map(json).count(), 3);
    assert_eq!(rendered_report("ndjson", &report).lines().map(json).count(), 4);
    assert_eq!(xml::elements(&rendered_report("checkstyle", &report)).len(), 7);
    let count = |format: &str, report: &Report, name: &str| {
        xml::elements(&rendered_report(format, report)).into_iter().filter(|one| one.name == name).count()
    };
    for name in ["testsuite", "testcase", "failure", "skipped", "error"] {
        assert_eq!(count("junit", &report, name), count("junit", &full(), name), "{name}");
    }
}

#[test]
fn nothing_hostile_is_markup_in_a_comment() {
    let text = rendered_report("markdown", &hostile());
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    for row in rows {
        assert_eq!(bars(row), 5, "{row}");
    }
    // What stands between fences of backticks is inert; nothing else may be a tag, a mention or a link.
    for line in text.lines().filter(|line| line.starts_with("- ") || line.starts_with("  - ")) {
        let mut outside = String::new();
        let mut rest = line;
        while let Some(start) = rest.find('`').filter(|at| !rest[..*at].ends_with('\\')) {
            let ticks = rest[start..].len() - rest[start..].trim_start_matches('`').len();
            outside.push_str(&rest[..start]);
            let inner = &rest[start + ticks..];
            let fence = "`".repeat(ticks);
            let end = inner
                .match_indices(&fence)
                .find(|(at, _)| !inner[at + ticks..].starts_with('`') && !inner[..*at].ends_with('`'));
            let Some((end, _)) = end else { break };
            rest = &inner[end + ticks..];
        }
        outside.push_str(rest);
        let outside = outside.replace("\\]", "");
        for bad in ["<script", "<img", "@all", "https://", "](", " #1"] {
            assert!(!outside.contains(bad), "{bad} in {outside}");
        }
    }
}

#[test]
fn html_page_is_self_contained() {
    for report in [full(), hostile()] {
        let page = rendered_report("html", &report);
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script>").count(), 2);
        let (before, rest) = page.split_once("id=\"data\">").expect("data");
        let (data, after) = rest.split_once("</script>").expect("an end");
        for part in [before, after] {
            assert!(!part.contains("src=") && !part.contains("://") && !part.contains("url("), "nothing to fetch");
        }
        assert!(before.contains("default-src 'none'"));
        assert!(!data.contains(['<', '>', '&']), "inert");
        let data = json(data);
        assert_eq!(data["pools"].as_array().map(Vec::len), Some(3));
        let cell = |row: usize, column: usize| {
            let number = data["subjects"][row]["cells"][column].as_u64().expect("a verdict");
            data["cells"][usize::try_from(number).expect("small")].clone()
        };
        let failing = cell(0, 0);
        assert_eq!((&failing["fate"], &failing["outcome"]), (&"fails".into(), &"insufficient-driver".into()));
        assert_eq!(
            failing["chains"].as_array().map(Vec::len),
            Some(2),
            "hosts with the same steps are rendered_report once"
        );
        let chain =
            &data["chains"][usize::try_from(failing["chains"][0][2].as_u64().expect("a chain")).expect("small")];
        assert_eq!(chain.as_array().map(Vec::len), Some(2));
        assert_eq!(cell(1, 2)["word"], "not applicable");
    }
}
