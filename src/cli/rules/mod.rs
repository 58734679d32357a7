//! `imagelint rules`: lists, shows, tests and creates rule pages, and writes them as a web book.

mod docs;
mod list;
mod new;
mod test;

use std::io::Write as _;

use crate::cli::args::{RulesAction, RulesArgs};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::read_rule_book;
use crate::cli::streams;
use crate::knowledge::Knowledge;
use crate::report::escape::escape_one_line;
use crate::rules::{RuleBook, RulePage};
use crate::text::nearest::nearest_word;
pub(super) use list::page_json;

/// Runs `imagelint rules`.
pub(crate) fn run(options: &RulesArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut out = streams::stdout();
    match &options.action {
        RulesAction::List { rules, format } => list::list_rules(&mut out, &read_rule_book(rules)?, *format),
        RulesAction::Show { rule, rules } => {
            for line in find_page(&read_rule_book(rules)?, rule)?.text.lines() {
                writeln!(out, "{}", escape_one_line(line))?;
            }
            Ok(Exit::Clean)
        }
        RulesAction::Vocabulary { format } => list::list_vocabulary(&mut out, *format),
        RulesAction::Test { folders, verbose, format } => test::run(&mut out, folders, *verbose, *format, knowledge),
        RulesAction::New { name, folder } => new::run(&mut out, name, folder),
        RulesAction::Docs { folder, rules } => docs::run(&mut out, folder, &read_rule_book(rules)?),
    }
}

/// Returns the page of a rule, or an error that suggests a similar name.
fn find_page<'a>(book: &'a RuleBook, name: &str) -> Result<&'a RulePage, CommandError> {
    book.get(name).ok_or_else(|| {
        let near = nearest_word(name, book.pages().flat_map(RulePage::names)).and_then(|near| book.get(near));
        let help = near.map(|page| &page.name).map_or_else(
            || "imagelint rules list shows all rules".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        CommandError::Message(escape_one_line(&format!("error: there is no rule `{name}`; {help}")).into_owned())
    })
}
