//! Workspace of a language server session: files on disk, overlaid with the documents open in the editor.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use crate::cli::file_search::{ReferencingDockerfile, is_description_name, is_dockerfile_name};
use crate::cli::language_server::{AnalysisLevel, DocumentAnalysis, DocumentKind, OpenDocuments, Workspace};
use crate::cli::lsp::document_check;
use crate::cli::lsp::document_check::DocumentContext;
use crate::cli::lsp::options::LspOptions;
use crate::cli::{fleet_file, language_server};
use crate::knowledge::Knowledge;

/// Files of the workspace folder, overlaid with open documents.
#[derive(Clone)]
pub(super) struct DiskWorkspace<'o> {
    options: &'o LspOptions<'o>,
    knowledge: Knowledge,
    folder: PathBuf,
    /// For each requirements file or script, the Dockerfiles that read it, as of the last search.
    readers: BTreeMap<PathBuf, Vec<ReferencingDockerfile>>,
}

impl<'o> DiskWorkspace<'o> {
    /// Creates the workspace of the current directory.
    pub(super) fn new(options: &'o LspOptions<'o>, knowledge: Knowledge) -> Self {
        let folder = env::current_dir().unwrap_or_default();
        Self { options, knowledge, folder, readers: BTreeMap::new() }
    }

    /// Returns a path relative to the workspace folder, as a user there would write it on the command line.
    fn relative_name(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.folder).ok().filter(|name| !name.as_os_str().is_empty()).unwrap_or(path).to_path_buf()
    }

    /// Returns the context in which a document is checked.
    fn document_context<'a>(&'a self, open: &'a OpenDocuments, name: Option<&'a Path>) -> DocumentContext<'a> {
        let (options, knowledge, folder) = (self.options, self.knowledge, self.folder.as_path());
        DocumentContext { options, knowledge, folder, open, name }
    }
}

impl Workspace for DiskWorkspace<'_> {
    fn set_root_folder(&mut self, folder: &Path) {
        // Where that cannot be, names are longer, and nothing else is otherwise.
        if env::set_current_dir(folder).is_ok() {
            self.folder = folder.to_path_buf();
        }
    }

    fn absolute_path(&self, name: &str) -> PathBuf {
        self.folder.join(name.strip_prefix("./").unwrap_or(name))
    }

    fn document_kind(&self, path: Option<&Path>, language: &str) -> DocumentKind {
        let name = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let fleet_path = self.options.judging.fleet.as_ref().map(|file| self.folder.join(file));
        if name == fleet_file::FLEET_FILE_NAME || (path.is_some() && fleet_path.as_deref() == path) {
            DocumentKind::Fleet
        } else if is_description_name(&name) {
            DocumentKind::Description
        } else if is_dockerfile_name(&name) || language.eq_ignore_ascii_case("dockerfile") {
            DocumentKind::Dockerfile
        } else if path.is_some_and(document_check::may_be_list_or_script) {
            DocumentKind::List
        } else {
            DocumentKind::Other
        }
    }

    fn analyze(
        &mut self,
        kind: DocumentKind,
        path: Option<&Path>,
        text: &str,
        open: &OpenDocuments,
        depth: AnalysisLevel,
    ) -> DocumentAnalysis {
        let name = path.map(|path| self.relative_name(path));
        let around = self.document_context(open, name.as_deref());
        match (kind, &name) {
            (DocumentKind::Fleet, Some(name)) => around.check_fleet_file(name, text),
            (DocumentKind::List, Some(name)) => {
                let known = self.readers.get(name).cloned();
                let readers = known.unwrap_or_else(|| around.find_dockerfiles(name));
                let judged = around.judge_dockerfiles(&readers, depth);
                self.readers.insert(name.clone(), readers);
                judged
            }
            (DocumentKind::Dockerfile | DocumentKind::Description, _) => around.judge_document(text, depth),
            (DocumentKind::Other | DocumentKind::Fleet | DocumentKind::List, _) => DocumentAnalysis::default(),
        }
    }

    fn pool_names(&mut self, path: Option<&Path>, open: &OpenDocuments) -> Vec<String> {
        let name = path.map(|path| self.relative_name(path));
        self.document_context(open, name.as_deref()).pool_names()
    }

    fn rule_names(&mut self, path: Option<&Path>) -> Vec<String> {
        let (name, open) = (path.map(|path| self.relative_name(path)), OpenDocuments::default());
        self.document_context(&open, name.as_deref()).rule_names()
    }

    fn gpu_names(&self) -> Vec<String> {
        self.knowledge.gpus().iter().map(|row| row.name.to_owned()).collect()
    }

    fn base_image_tags(&self, repository: &str) -> Vec<String> {
        language_server::known_base_image_tags(self.knowledge, repository)
    }

    fn refresh(&mut self) {
        self.readers.clear();
    }
}
