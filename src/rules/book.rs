//! All pages together: the built-in ones and those of a user's folder.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::outcome::Outcome;
use crate::rules::builtin::PAGES;
use crate::rules::header::Kind;
use crate::rules::header::Notice;
use crate::rules::header::Status;
use crate::rules::page::Page;
use crate::rules::problem::Fault;
use crate::rules::problem::PageError;
use crate::rules::vocabulary::Vocabulary;
use crate::source::Span;

/// Pages by name: one for every outcome, those that speak of practice, one for every notice of a reader.
#[derive(Clone, Debug)]
pub struct RuleBook {
    /// In the order of [`Outcome::ALL`].
    startup: Vec<Page>,
    /// Sorted by name.
    practice: Vec<Page>,
    /// In the order of [`Notice::ALL`].
    reader: Vec<Page>,
    /// Whether pages speak that are not stable yet.
    preview: bool,
}

static BUILT_IN: LazyLock<RuleBook> = LazyLock::new(|| {
    let read = |(path, text): &(&str, &str)| Page::read_built_in(path, text, &Vocabulary::built_in()).ok();
    let (mut startup, mut practice, mut reader) = (Vec::new(), Vec::new(), Vec::new());
    for page in PAGES.iter().filter_map(read) {
        match page.kind {
            Kind::Startup(_) => startup.push(page),
            Kind::Practice(_) => practice.push(page),
            Kind::Reader(_) => reader.push(page),
        }
    }
    startup.sort_by_key(outcome);
    practice.sort_by(|left, right| left.name.cmp(&right.name));
    reader.sort_by_key(notice);
    RuleBook { startup, practice, reader, preview: false }
});

fn outcome(page: &Page) -> Option<Outcome> {
    match page.kind {
        Kind::Startup(outcome) => Some(outcome),
        Kind::Practice(_) | Kind::Reader(_) => None,
    }
}

fn notice(page: &Page) -> Option<Notice> {
    match page.kind {
        Kind::Reader(notice) => Some(notice),
        Kind::Startup(_) | Kind::Practice(_) => None,
    }
}

/// Whether a file is a rule page by its name: any `.md` but a README.
pub fn is_page(path: &str) -> bool {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').is_some_and(|(_, extension)| extension == "md") && !file.eq_ignore_ascii_case("README.md")
}

/// Whether two pages are about the same: an outcome, a notice, or a practice.
fn alike(left: &Kind, right: &Kind) -> bool {
    match (left, right) {
        (Kind::Startup(left), Kind::Startup(right)) => left == right,
        (Kind::Reader(left), Kind::Reader(right)) => left == right,
        (Kind::Practice(_), Kind::Practice(_)) => true,
        _ => false,
    }
}

impl RuleBook {
    /// The pages that come with the program, read at the first call.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// The built-in pages and those of a folder, given as path and text; other files than `.md` are passed over.
    pub fn with_folder(files: Vec<(String, String)>) -> Result<Self, Vec<PageError>> {
        Self::with_files(files, Self::add)
    }

    /// The same, but a page replaces the built-in page of its name and kind: for a test of the pages themselves. A second
    /// page of one name among the files is an error.
    pub fn replaced_by(files: Vec<(String, String)>) -> Result<Self, Vec<PageError>> {
        let mut given = BTreeSet::new();
        Self::with_files(files, |book, page, path, text| {
            let first = given.insert(page.name.clone());
            let mut all = book.startup.iter_mut().chain(&mut book.practice).chain(&mut book.reader);
            match all.find(|own| first && own.name == page.name && alike(&own.kind, &page.kind)) {
                Some(own) => {
                    *own = page;
                    Ok(())
                }
                None => book.add(page, path, text),
            }
        })
    }

    fn with_files(
        files: Vec<(String, String)>,
        mut add: impl FnMut(&mut Self, Page, &str, &str) -> Result<(), Box<PageError>>,
    ) -> Result<Self, Vec<PageError>> {
        let mut book = Self::built_in().clone();
        let mut errors = Vec::new();
        for (path, text) in files.into_iter().filter(|(path, _)| is_page(path)) {
            let read = Page::read(&path, &text, &Vocabulary::built_in());
            errors.extend(read.and_then(|page| add(&mut book, page, &path, &text)).err().map(|error| *error));
        }
        book.practice.sort_by(|left, right| left.name.cmp(&right.name));
        book.rename_expectations();
        if errors.is_empty() { Ok(book) } else { Err(errors) }
    }

    /// Puts the names of rules in place of former ones that examples expect.
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

    fn add(&mut self, page: Page, path: &str, text: &str) -> Result<(), Box<PageError>> {
        let title = Span::new(0, page.name.len() + 2);
        if let Some(other) = page.names().find_map(|name| self.get(name)) {
            let fault = Fault::new(title, format!("a rule with this name already exists in `{}`", other.path));
            return Err(Box::new(fault.help("rename your rule".to_owned()).of(path, text)));
        }
        if let Some(outcome) = outcome(&page) {
            let fault = Fault::new(title, format!("the outcome `{outcome}` already has a page"));
            return Err(Box::new(
                fault.help("set `when` of your page, such as: verdict.outcome == \"no-gpu\"".to_owned()).of(path, text),
            ));
        }
        if let Some(notice) = notice(&page) {
            return Err(Box::new(
                Fault::new(title, format!("the notice `{notice}` already has a page")).of(path, text),
            ));
        }
        self.practice.push(page);
        Ok(())
    }

    /// The page that narrates an outcome.
    ///
    /// # Panics
    /// Where the program was built without that page, which a test rules out.
    pub fn startup(&self, wanted: Outcome) -> &Page {
        let found = self.startup.iter().find(|page| outcome(page) == Some(wanted));
        found.expect("every outcome has a built-in page")
    }

    /// The page that tells a notice; every one has its page, which a test makes sure of.
    pub fn reader(&self, wanted: Notice) -> Option<&Page> {
        self.reader.iter().find(|page| notice(page) == Some(wanted))
    }

    /// The same pages, and those that are not stable yet speak.
    #[must_use]
    pub fn with_preview(self) -> Self {
        Self { preview: true, ..self }
    }

    /// Pages with a condition, by name.
    pub fn practice(&self) -> &[Page] {
        &self.practice
    }

    /// Those of them that speak.
    pub fn speaking(&self) -> impl Iterator<Item = &Page> {
        self.practice.iter().filter(|page| self.lets_speak(page))
    }

    /// Whether a page speaks: one that is not stable yet does where previews are asked for.
    pub fn lets_speak(&self, page: &Page) -> bool {
        self.preview || page.status == Status::Stable
    }

    /// All pages: start-up in the order of the start-up, practice by name, then the notices.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        self.startup.iter().chain(&self.practice).chain(&self.reader)
    }

    /// The page of that name, or the one that had it formerly.
    pub fn get(&self, name: &str) -> Option<&Page> {
        let formerly = || self.pages().find(|page| page.aliases.iter().any(|alias| alias == name));
        self.pages().find(|page| page.name == name).or_else(formerly)
    }

    /// Whether a name that somebody wrote, be it a former one, is that of a rule.
    pub fn is(&self, written: &str, rule: &str) -> bool {
        written == rule || self.get(written).is_some_and(|page| page.name == rule)
    }
}
