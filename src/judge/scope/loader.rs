//! What a page may ask of where the loader looks: its variable, and the files for `ldconfig`.

use crate::cuda::LdConf;
use crate::cuda::is_compat_directory;
use crate::cuda::is_stub_directory;
use crate::cuda::library_path;
use crate::fact::FactId;
use crate::fact::Manager;
use crate::fact::State;
use crate::fact::Value as FactValue;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::list;
use crate::judge::scope::of;
use crate::judge::scope::seen;
use crate::judge::scope::text;
use crate::reference::ImageReference;

/// The file that names the folder of all others.
const FIRST: &str = "/etc/ld.so.conf";

/// The variable of the loader.
const LOADER_PATH: &str = "LD_LIBRARY_PATH";

impl Subject<'_> {
    /// What is known under a name that speaks of where the loader looks.
    pub(super) fn of_loader(&self, name: &str) -> Option<Said> {
        let conf = &self.image.ld_conf;
        Some(match name {
            "image.ld_library_path" => of(self.image.env.get(LOADER_PATH), |value| text(value)),
            "image.ld_conf" => of(conf, |files| {
                list(files.iter().map(|file| format!("{}: {}", shown(file), file.directories.join(" "))))
            }),
            "image.ld_conf.directories" => {
                of(conf, |files| list(files.iter().flat_map(|file| file.directories.iter().cloned())))
            }
            "image.stub_paths" => self.stub_paths(),
            "image.compat_conf" => self.compat_conf(),
            _ => return None,
        })
    }

    /// The files for `ldconfig` that name compat directories of the toolkit.
    fn compat_conf(&self) -> Said {
        let conf = &self.image.ld_conf;
        let (mut found, mut fact) = (Vec::new(), None);
        for file in conf.known().into_iter().flatten() {
            let own: Vec<&str> =
                file.directories.iter().map(String::as_str).filter(|one| is_compat_directory(one)).collect();
            if !own.is_empty() {
                found.push(format!("{}: {}", shown(file), own.join(" ")));
                fact = fact.or(self.written(file));
            }
        }
        Said::plain(seen(found, !conf.is_unknown())).on(fact.or(Some(conf.id)))
    }

    /// Directories of stubs that the loader looks into.
    fn stub_paths(&self) -> Said {
        let image = self.image;
        let path = image.env.get(LOADER_PATH);
        let complete = !path.is_unknown() && !image.ld_conf.is_unknown();
        if self.has_no_stubs() {
            return Said::plain(seen(Vec::new(), true));
        }
        let (mut found, mut fact) = (Vec::new(), None);
        let named = path.known().into_iter().flat_map(|path| library_path(path)).map(|directory| (directory, path.id));
        let listed = image.ld_conf.known().into_iter().flatten();
        let listed = listed.flat_map(|file| file.directories.iter().map(move |directory| (directory.as_str(), file)));
        let listed = listed.map(|(directory, file)| (directory, self.written(file).unwrap_or(image.ld_conf.id)));
        for (directory, id) in named.chain(listed) {
            if is_stub_directory(directory) {
                found.push(directory.to_owned());
                fact = fact.or(Some(id));
            }
        }
        Said::plain(seen(found, complete)).on(fact)
    }

    /// Whether there are certainly no stubs: the base is a CUDA image of a flavour without them, and nothing that may
    /// bring them was installed or seen.
    fn has_no_stubs(&self) -> bool {
        let (Some(base), Some(all)) = (self.image.base, self.seen) else { return false };
        let State::Known(FactValue::Text(written)) = &self.image.facts.get(base).state else { return false };
        let Ok(reference) = ImageReference::parse(written) else { return false };
        let with = |word: &str| self.knowledge.stub_directories().iter().any(|row| row.flavour == word);
        let without = |tag: &str| !tag.split('-').any(with) && self.knowledge.cuda_flavour(tag).is_some();
        let brings = all.packages.iter().any(|one| one.manager != Manager::Pip && one.name.contains("cuda"));
        self.knowledge.is_cuda_repository(&reference.familiar())
            && reference.tag().is_some_and(without)
            && !brings
            && !all.files.keys().any(|path| path.contains("/stubs/"))
    }

    /// The fact of a file for `ldconfig`, where the input has it.
    fn written(&self, file: &LdConf) -> Option<FactId> {
        let path = if is_first(file) { FIRST.to_owned() } else { format!("{FIRST}.d/{}", file.name) };
        Some(self.seen?.files.get(&path)?.fact)
    }
}

/// Whether it stands for lines of the first file: before those of the folder, or behind them.
fn is_first(file: &LdConf) -> bool {
    matches!(file.name.as_str(), "" | "~")
}

fn shown(file: &LdConf) -> &str {
    if is_first(file) { "ld.so.conf" } else { &file.name }
}
