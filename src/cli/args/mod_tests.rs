use clap::{CommandFactory as _, Parser as _};

use super::Args;

/// Every command with its path, including the parents of subcommands; without the `help` of clap.
fn all_commands() -> Vec<(String, clap::Command)> {
    let mut all = Vec::new();
    let mut open = vec![(String::new(), Args::command())];
    while let Some((above, command)) = open.pop() {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            open.push((format!("{above} {}", below.get_name()), below.clone()));
        }
        all.push((format!("{above} ").trim_start().to_owned(), command));
    }
    all
}

/// The example command lines of a long help; of each, the arguments of the part that runs `imagelint`.
fn help_examples(help: &str) -> Vec<Vec<String>> {
    let lines = help.lines().filter_map(|line| line.trim().strip_prefix("Example: "));
    lines.map(imagelint_arguments).collect()
}

/// The arguments of the part of a pipe that runs imagelint, up to a redirection; quotes group arguments.
fn imagelint_arguments(line: &str) -> Vec<String> {
    let (mut parts, mut quote, mut word) = (vec![Vec::new()], None, String::new());
    for c in line.chars().chain([' ']) {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => match std::mem::take(&mut word).as_str() {
                "" => {}
                "|" | "<" | ">" => parts.push(Vec::new()),
                whole => parts.last_mut().expect("a part").push(whole.to_owned()),
            },
            (c, _) => word.push(c),
        }
    }
    parts.into_iter().find(|words| words.first().is_some_and(|word| word == "imagelint")).unwrap_or_default()
}

#[test]
fn every_command_accepts_its_example() {
    let commands = all_commands();
    assert!(commands.len() > 15, "the walk found {}", commands.len());
    for (path, command) in commands {
        let help = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
        let examples = help_examples(&help);
        assert!(
            !examples.is_empty() || path.is_empty(),
            "`imagelint {path}--help` has no line `Example: imagelint ...`"
        );
        for example in examples {
            let line = example.join(" ");
            assert!(format!("{line} ").starts_with(&format!("imagelint {path}")), "`{line}` is no example of `{path}`");
            if let Err(error) = Args::try_parse_from(&example) {
                panic!("`{line}`: {error}");
            }
        }
    }
}

#[test]
fn an_example_is_the_part_that_runs_the_program() {
    let text = "Does it.\n\nExample: imagelint a 'b > c' > d\nExample: kubectl get | imagelint e\nNo Example: x";
    assert_eq!(help_examples(text), [vec!["imagelint", "a", "b > c"], vec!["imagelint", "e"]]);
    assert!(help_examples("An example: imagelint check").is_empty());
    assert_eq!(help_examples("Example: docker run x"), [Vec::<String>::new()], "an example of nothing");
}

#[test]
fn every_flag_has_a_help_text_and_clap_accepts_the_definition() {
    Args::command().debug_assert();
    for (path, command) in all_commands() {
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let words = help.split_whitespace().count();
            assert!((1..=12).contains(&words), "`{path}`: the help of {} has {words} words", argument.get_id());
        }
    }
}
