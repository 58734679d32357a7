//! The world of an editor's session: the files on the disk under those that are open.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::fleet;
use crate::cli::lsp::Options;
use crate::cli::lsp::judged;
use crate::cli::lsp::judged::Around;
use crate::cli::readers::Reader;
use crate::cli::walk::is_description;
use crate::cli::walk::is_dockerfile;
use crate::knowledge::Knowledge;
use crate::lsp;
use crate::lsp::Depth;
use crate::lsp::Judged;
use crate::lsp::Kind;
use crate::lsp::Open;
use crate::lsp::World;

/// The files of the editor's folder.
#[derive(Clone)]
pub(super) struct Disk<'o> {
    options: &'o Options<'o>,
    knowledge: Knowledge,
    folder: PathBuf,
    /// The Dockerfiles that stand for a list of packages, as last looked for.
    readers: BTreeMap<PathBuf, Vec<Reader>>,
}

impl<'o> Disk<'o> {
    pub(super) fn new(options: &'o Options<'o>, knowledge: Knowledge) -> Self {
        let folder = env::current_dir().unwrap_or_default();
        Self { options, knowledge, folder, readers: BTreeMap::new() }
    }

    /// A file as a user of the command line in the editor's folder would name it.
    fn name(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.folder).ok().filter(|name| !name.as_os_str().is_empty()).unwrap_or(path).to_path_buf()
    }

    fn around<'a>(&'a self, open: &'a Open, name: Option<&'a Path>) -> Around<'a> {
        let (options, knowledge, folder) = (self.options, self.knowledge, self.folder.as_path());
        Around { options, knowledge, folder, open, name }
    }
}

impl World for Disk<'_> {
    fn enter(&mut self, folder: &Path) {
        // Where that cannot be, names are longer, and nothing else is otherwise.
        if env::set_current_dir(folder).is_ok() {
            self.folder = folder.to_path_buf();
        }
    }

    fn full(&self, name: &str) -> PathBuf {
        self.folder.join(name.strip_prefix("./").unwrap_or(name))
    }

    fn kind(&self, path: Option<&Path>, language: &str) -> Kind {
        let name = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let asked = self.options.judging.fleet.as_ref().map(|file| self.folder.join(file));
        if name == fleet::FILE || (path.is_some() && asked.as_deref() == path) {
            Kind::Fleet
        } else if is_description(&name) {
            Kind::Description
        } else if is_dockerfile(&name) || language.eq_ignore_ascii_case("dockerfile") {
            Kind::Dockerfile
        } else if path.is_some_and(judged::may_be_list) {
            Kind::List
        } else {
            Kind::Other
        }
    }

    fn judge(&mut self, kind: Kind, path: Option<&Path>, text: &str, open: &Open, depth: Depth) -> Judged {
        let name = path.map(|path| self.name(path));
        let around = self.around(open, name.as_deref());
        match (kind, &name) {
            (Kind::Fleet, Some(name)) => around.fleet_file(name, text),
            (Kind::List, Some(name)) => {
                let known = self.readers.get(name).cloned();
                let readers = known.unwrap_or_else(|| around.readers(name));
                let judged = around.readers_judged(&readers, depth);
                self.readers.insert(name.clone(), readers);
                judged
            }
            (Kind::Dockerfile | Kind::Description, _) => around.file(text, depth),
            (Kind::Other | Kind::Fleet | Kind::List, _) => Judged::default(),
        }
    }

    fn pools(&mut self, path: Option<&Path>, open: &Open) -> Vec<String> {
        let name = path.map(|path| self.name(path));
        self.around(open, name.as_deref()).pools()
    }

    fn rules(&mut self, path: Option<&Path>) -> Vec<String> {
        let (name, open) = (path.map(|path| self.name(path)), Open::default());
        self.around(&open, name.as_deref()).rules()
    }

    fn gpus(&self) -> Vec<String> {
        self.knowledge.gpus().iter().map(|row| row.name.to_owned()).collect()
    }

    fn tags(&self, repository: &str) -> Vec<String> {
        lsp::tags(self.knowledge, repository)
    }

    fn refresh(&mut self) {
        self.readers.clear();
    }
}
