//! The collection of all rule pages: the built-in pages and those of a user's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::model::outcome::Outcome;
use crate::rules::builtin::BUILT_IN_PAGES;
use crate::rules::page::RulePage;
use crate::rules::page_error::{Fault, RulePageError};
use crate::rules::page_header::{Notice, PageKind, Status};
use crate::rules::vocabulary::Vocabulary;
use crate::text::source::Span;

/// All rule pages: one for every start-up outcome, the practice pages, and one for every notice.
#[derive(Clone, Debug)]
pub struct RuleBook {
    /// The pages about start-up outcomes, in the order of `Outcome::ALL`.
    startup: Vec<RulePage>,
    /// The practice pages, sorted by name.
    practice: Vec<RulePage>,
    /// The pages about notices, in the order of `Notice::ALL`.
    reader: Vec<RulePage>,
    /// Whether pages with the status `preview` are active too.
    preview: bool,
}

/// The book of the built-in pages.
static BUILT_IN_BOOK: LazyLock<RuleBook> = LazyLock::new(|| {
    let read = |(path, text): &(&str, &str)| RulePage::read_built_in(path, text, &Vocabulary::built_in()).ok();
    let (mut startup, mut practice, mut reader) = (Vec::new(), Vec::new(), Vec::new());
    for page in BUILT_IN_PAGES.iter().filter_map(read) {
        match page.kind {
            PageKind::Startup(_) => startup.push(page),
            PageKind::Practice(_) => practice.push(page),
            PageKind::Reader(_) => reader.push(page),
        }
    }
    startup.sort_by_key(startup_outcome);
    practice.sort_by(|left, right| left.name.cmp(&right.name));
    reader.sort_by_key(page_notice);
    RuleBook { startup, practice, reader, preview: false }
});

/// Returns the outcome of a start-up page.
fn startup_outcome(page: &RulePage) -> Option<Outcome> {
    match page.kind {
        PageKind::Startup(outcome) => Some(outcome),
        PageKind::Practice(_) | PageKind::Reader(_) => None,
    }
}

/// Returns the notice of a page about notices.
fn page_notice(page: &RulePage) -> Option<Notice> {
    match page.kind {
        PageKind::Reader(notice) => Some(notice),
        PageKind::Startup(_) | PageKind::Practice(_) => None,
    }
}

/// Whether a path is that of a rule page: any `.md` file except a README.
pub fn is_rule_page(path: &str) -> bool {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').is_some_and(|(_, extension)| extension == "md") && !file.eq_ignore_ascii_case("README.md")
}

/// Whether two pages have the same outcome or notice, or are both practice pages.
fn is_same_topic(left: &PageKind, right: &PageKind) -> bool {
    match (left, right) {
        (PageKind::Startup(left), PageKind::Startup(right)) => left == right,
        (PageKind::Reader(left), PageKind::Reader(right)) => left == right,
        (PageKind::Practice(_), PageKind::Practice(_)) => true,
        _ => false,
    }
}

impl RuleBook {
    /// Returns the book of the pages that are built into the program; they are parsed at the first call.
    pub fn built_in() -> &'static Self {
        &BUILT_IN_BOOK
    }

    /// Returns the built-in pages plus those of a folder, passed as paths and texts; only `.md` files are used.
    pub fn with_folder(files: Vec<(String, String)>) -> Result<Self, Vec<RulePageError>> {
        Self::with_files(files, Self::add_page)
    }

    /// Like `with_folder`, but a file replaces the built-in page of its name and kind; two files with one name are an
    /// error.
    pub fn with_replaced_pages(files: Vec<(String, String)>) -> Result<Self, Vec<RulePageError>> {
        let mut given = BTreeSet::new();
        Self::with_files(files, |book, page, path, text| {
            let first = given.insert(page.name.clone());
            let mut all = book.startup.iter_mut().chain(&mut book.practice).chain(&mut book.reader);
            match all.find(|own| first && own.name == page.name && is_same_topic(&own.kind, &page.kind)) {
                Some(own) => {
                    *own = page;
                    Ok(())
                }
                None => book.add_page(page, path, text),
            }
        })
    }

    /// Parses the files and adds each page with `add`.
    fn with_files(
        files: Vec<(String, String)>,
        mut add: impl FnMut(&mut Self, RulePage, &str, &str) -> Result<(), Box<RulePageError>>,
    ) -> Result<Self, Vec<RulePageError>> {
        let mut book = Self::built_in().clone();
        let mut errors = Vec::new();
        for (path, text) in files.into_iter().filter(|(path, _)| is_rule_page(path)) {
            let read = RulePage::read(&path, &text, &Vocabulary::built_in());
            errors.extend(read.and_then(|page| add(&mut book, page, &path, &text)).err().map(|error| *error));
        }
        book.practice.sort_by(|left, right| left.name.cmp(&right.name));
        book.rename_expectations();
        if errors.is_empty() { Ok(book) } else { Err(errors) }
    }

    /// Replaces former rule names in the expectations of examples by the current names.
    fn rename_expectations(&mut self) {
        let former: BTreeMap<String, String> =
            self.pages().flat_map(|page| page.aliases.iter().map(|alias| (alias.clone(), page.name.clone()))).collect();
        let expected = self.practice.iter_mut().flat_map(|page| &mut page.examples).flat_map(|one| &mut one.expect);
        for one in expected {
            if let Some(name) = former.get(&one.rule) {
                one.rule.clone_from(name);
            }
        }
    }

    /// Adds a page of a user; its name must be new, and it must be a practice page.
    fn add_page(&mut self, page: RulePage, path: &str, text: &str) -> Result<(), Box<RulePageError>> {
        let title = Span::new(0, page.name.len() + 2);
        if let Some(other) = page.names().find_map(|name| self.get(name)) {
            let fault = Fault::new(title, format!("a rule with this name already exists in `{}`", other.path));
            return Err(Box::new(fault.with_help("rename your rule".to_owned()).into_page_error(path, text)));
        }
        if let Some(outcome) = startup_outcome(&page) {
            let fault = Fault::new(title, format!("the outcome `{outcome}` already has a page"));
            return Err(Box::new(
                fault
                    .with_help("set `when` of your page, such as: verdict.outcome == \"no-gpu\"".to_owned())
                    .into_page_error(path, text),
            ));
        }
        if let Some(notice) = page_notice(&page) {
            return Err(Box::new(
                Fault::new(title, format!("the notice `{notice}` already has a page")).into_page_error(path, text),
            ));
        }
        self.practice.push(page);
        Ok(())
    }

    /// Returns the page about a start-up outcome.
    ///
    /// # Panics
    /// Where the program was built without that page, which a test rules out.
    pub fn outcome_page(&self, outcome: Outcome) -> &RulePage {
        let found = self.startup.iter().find(|page| startup_outcome(page) == Some(outcome));
        found.expect("every outcome has a built-in page")
    }

    /// Returns the page about a notice; a test ensures that every notice has one.
    pub fn notice_page(&self, notice: Notice) -> Option<&RulePage> {
        self.reader.iter().find(|page| page_notice(page) == Some(notice))
    }

    /// Returns the same book with the `preview` pages activated.
    #[must_use]
    pub fn with_preview(self) -> Self {
        Self { preview: true, ..self }
    }

    /// Returns the pages that have a condition, sorted by name.
    pub fn practice_pages(&self) -> &[RulePage] {
        &self.practice
    }

    /// Returns the practice pages that are active.
    pub fn active_practice_pages(&self) -> impl Iterator<Item = &RulePage> {
        self.practice.iter().filter(|page| self.is_active(page))
    }

    /// Whether a page can report findings: it is stable, or preview pages are activated.
    pub fn is_active(&self, page: &RulePage) -> bool {
        self.preview || page.status == Status::Stable
    }

    /// Returns all pages: start-up outcomes in their order, practice pages by name, then notices.
    pub fn pages(&self) -> impl Iterator<Item = &RulePage> {
        self.startup.iter().chain(&self.practice).chain(&self.reader)
    }

    /// Returns the page with this current or former name.
    pub fn get(&self, name: &str) -> Option<&RulePage> {
        let formerly = || self.pages().find(|page| page.aliases.iter().any(|alias| alias == name));
        self.pages().find(|page| page.name == name).or_else(formerly)
    }

    /// Whether a name, current or former, is that of the rule `rule`.
    pub fn is_name_of(&self, written: &str, rule: &str) -> bool {
        written == rule || self.get(written).is_some_and(|page| page.name == rule)
    }
}
