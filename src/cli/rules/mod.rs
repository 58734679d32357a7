//! `imagelint rules`: the pages listed, shown, tested, begun and made into a book.

mod docs;
mod list;
mod new;
mod test;

use std::io::Write as _;

use crate::cli::Failure;
use crate::cli::args::RulesArgs;
use crate::cli::args::RulesDo;
use crate::cli::exit::Exit;
use crate::cli::output::read_rules;
pub(super) use crate::cli::rules::list::of_page;
use crate::cli::streams;
use crate::knowledge::Knowledge;
use crate::nearest::nearest;
use crate::report::escape::clean;
use crate::rules::Page;
use crate::rules::RuleBook;

/// Runs it.
pub(crate) fn run(options: &RulesArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut out = streams::out();
    match &options.action {
        RulesDo::List { rules, format } => list::rules(&mut out, &read_rules(rules)?, *format),
        RulesDo::Show { rule, rules } => {
            for line in page(&read_rules(rules)?, rule)?.text.lines() {
                writeln!(out, "{}", clean(line))?;
            }
            Ok(Exit::Clean)
        }
        RulesDo::Vocabulary { format } => list::vocabulary(&mut out, *format),
        RulesDo::Test { folders, verbose, format } => test::run(&mut out, folders, *verbose, *format, knowledge),
        RulesDo::New { name, folder } => new::run(&mut out, name, folder),
        RulesDo::Docs { folder, rules } => docs::run(&mut out, folder, &read_rules(rules)?),
    }
}

/// The page of that name, or what was likely meant.
fn page<'a>(book: &'a RuleBook, name: &str) -> Result<&'a Page, Failure> {
    book.get(name).ok_or_else(|| {
        let near = nearest(name, book.pages().flat_map(Page::names)).and_then(|near| book.get(near));
        let help = near.map(|page| &page.name).map_or_else(
            || "imagelint rules list shows all rules".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        Failure::Said(clean(&format!("error: there is no rule `{name}`; {help}")).into_owned())
    })
}
