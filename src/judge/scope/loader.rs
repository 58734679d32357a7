//! Vocabulary names on library search paths: the loader variable, and the files for `ldconfig`.

use crate::cuda::{LdConf, is_compat_directory, is_stub_directory, library_path_directories};
use crate::judge::scope::{BlamedLookup, RuleScope, fact_lookup, list_lookup, observed_list_lookup, text_lookup};
use crate::model::fact::{FactId, PrintedValue, ValueState};
use crate::model::package::PackageManager;
use crate::model::reference::ImageReference;

/// The file that includes all other files for `ldconfig`.
const LD_SO_CONF: &str = "/etc/ld.so.conf";

/// The library path variable of the loader.
const LIBRARY_PATH_VARIABLE: &str = "LD_LIBRARY_PATH";

impl RuleScope<'_> {
    /// Returns the value of a name on library search paths; `None` for other names.
    pub(super) fn loader_lookup(&self, name: &str) -> Option<BlamedLookup> {
        let conf = &self.image.ld_conf;
        Some(match name {
            "image.ld_library_path" => {
                fact_lookup(self.image.env.get(LIBRARY_PATH_VARIABLE), |value| text_lookup(value))
            }
            "image.ld_conf" => fact_lookup(conf, |files| {
                list_lookup(
                    files.iter().map(|file| format!("{}: {}", conf_display_name(file), file.directories.join(" "))),
                )
            }),
            "image.ld_conf.directories" => {
                fact_lookup(conf, |files| list_lookup(files.iter().flat_map(|file| file.directories.iter().cloned())))
            }
            "image.stub_paths" => self.stub_directories(),
            "image.compat_conf" => self.compat_conf_files(),
            _ => return None,
        })
    }

    /// Returns the files for `ldconfig` that name compat directories of the toolkit.
    fn compat_conf_files(&self) -> BlamedLookup {
        let conf = &self.image.ld_conf;
        let (mut found, mut fact) = (Vec::new(), None);
        for file in conf.known().into_iter().flatten() {
            let own: Vec<&str> =
                file.directories.iter().map(String::as_str).filter(|one| is_compat_directory(one)).collect();
            if !own.is_empty() {
                found.push(format!("{}: {}", conf_display_name(file), own.join(" ")));
                fact = fact.or(self.conf_file_fact(file));
            }
        }
        BlamedLookup::without_fact(observed_list_lookup(found, !conf.is_unknown())).with_fact(fact.or(Some(conf.id)))
    }

    /// Returns the directories with stubs that the loader searches.
    fn stub_directories(&self) -> BlamedLookup {
        let image = self.image;
        let path = image.env.get(LIBRARY_PATH_VARIABLE);
        let complete = !path.is_unknown() && !image.ld_conf.is_unknown();
        if self.has_no_stubs() {
            return BlamedLookup::without_fact(observed_list_lookup(Vec::new(), true));
        }
        let (mut found, mut fact) = (Vec::new(), None);
        let named = path
            .known()
            .into_iter()
            .flat_map(|path| library_path_directories(path))
            .map(|directory| (directory, path.id));
        let listed = image.ld_conf.known().into_iter().flatten();
        let listed = listed.flat_map(|file| file.directories.iter().map(move |directory| (directory.as_str(), file)));
        let listed = listed.map(|(directory, file)| (directory, self.conf_file_fact(file).unwrap_or(image.ld_conf.id)));
        for (directory, id) in named.chain(listed) {
            if is_stub_directory(directory) {
                found.push(directory.to_owned());
                fact = fact.or(Some(id));
            }
        }
        BlamedLookup::without_fact(observed_list_lookup(found, complete)).with_fact(fact)
    }

    /// Whether there are certainly no stubs: the flavour of the CUDA base image has none, and nothing else installs
    /// them.
    fn has_no_stubs(&self) -> bool {
        let (Some(base), Some(all)) = (self.image.base, self.seen) else { return false };
        let ValueState::Known(PrintedValue::Text(written)) = &self.image.facts.get(base).state else { return false };
        let Ok(reference) = ImageReference::parse(written) else { return false };
        let with = |word: &str| self.knowledge.stub_directories().iter().any(|row| row.flavour == word);
        let without = |tag: &str| !tag.split('-').any(with) && self.knowledge.cuda_flavour(tag).is_some();
        let brings = all
            .packages
            .iter()
            .any(|one| one.requirement.manager != PackageManager::Pip && one.requirement.name.contains("cuda"));
        self.knowledge.is_cuda_repository(&reference.familiar_name())
            && reference.tag().is_some_and(without)
            && !brings
            && !all.files.keys().any(|path| path.contains("/stubs/"))
    }

    /// Returns the fact of a file for `ldconfig`, if the input has the file.
    fn conf_file_fact(&self, file: &LdConf) -> Option<FactId> {
        let path = if is_main_conf(file) { LD_SO_CONF.to_owned() } else { format!("{LD_SO_CONF}.d/{}", file.name) };
        Some(self.seen?.files.get(&path)?.fact)
    }
}

/// Whether the entry holds lines of the main file, before or after the included ones.
fn is_main_conf(file: &LdConf) -> bool {
    matches!(file.name.as_str(), "" | "~")
}

/// Returns the display name of a file for `ldconfig`.
fn conf_display_name(file: &LdConf) -> &str {
    if is_main_conf(file) { "ld.so.conf" } else { &file.name }
}
