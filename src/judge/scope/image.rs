//! What a page may ask of the image itself: environment, file tree, what it starts.

use crate::fact::CompatLibrary;
use crate::fact::State;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::counted;
use crate::judge::scope::list;
use crate::judge::scope::number;
use crate::judge::scope::of;
use crate::judge::scope::seen;
use crate::judge::scope::text;
use crate::judge::scope::truth;
use crate::judge::scope::version;
use crate::rules::Lookup;
use crate::rules::Value;

/// The variable that names what extensions are built for.
const ARCH_LIST: &str = "TORCH_CUDA_ARCH_LIST";

impl Subject<'_> {
    /// What is known under a name that speaks of the image.
    pub(super) fn of_image(&self, name: &str) -> Option<Said> {
        let image = self.image;
        if let Some(variable) = name.strip_prefix("image.env.") {
            return Some(of(image.env.get(variable), |value| text(value)));
        }
        Some(match name {
            "image.gpu_content" => Said::plain(truth(image.gpu_content)),
            "image.platforms" => of(&image.platforms, |all| list(all.iter().cloned())),
            "image.entrypoint" => self.entrypoint(),
            "image.ld_library_path" => of(image.env.get("LD_LIBRARY_PATH"), |value| text(value)),
            "image.ld_conf" => of(&image.ld_conf, |files| {
                list(files.iter().map(|file| format!("{}: {}", file.name, file.directories.join(" "))))
            }),
            "image.ld_conf.directories" => {
                of(&image.ld_conf, |files| list(files.iter().flat_map(|file| file.directories.iter().cloned())))
            }
            "image.stub_paths" => self.stub_paths(),
            "image.driver_libraries" => {
                of(&image.driver_libraries, |all| list(all.iter().map(|library| library.path.clone())))
            }
            "image.compat.present" => counted(&image.compat, Value::Bool(false), |_| Value::Bool(true)),
            "image.compat.count" => {
                counted(&image.compat, number(0), |compat| number(versions(&compat.libraries).len()))
            }
            "image.compat.libraries" => of(&image.compat, |compat| list(versions(&compat.libraries))),
            "image.compat.cuda" => of(&image.compat, |compat| compat.cuda.as_ref().map_or(Lookup::Unknown, version)),
            "arch_list.entries" => of(image.env.get(ARCH_LIST), |value| list(entries(value).map(str::to_owned))),
            "arch_list.ptx" => counted(image.env.get(ARCH_LIST), Value::Bool(false), |value| {
                Value::Bool(entries(value).any(|entry| entry.to_ascii_uppercase().ends_with("+PTX")))
            }),
            _ => return None,
        })
    }

    /// What the image starts; absent only where the whole configuration was read.
    fn entrypoint(&self) -> Said {
        let Some(all) = self.seen else { return Said::plain(Lookup::Unknown) };
        match &all.entrypoint {
            Some((words, fact)) => Said::plain(list(words.iter().cloned())).on(Some(*fact)),
            None if all.complete.env => Said::plain(Lookup::Absent),
            None => Said::plain(Lookup::Unknown),
        }
    }

    /// Directories of stubs that the loader looks into, and stubs that lie elsewhere.
    fn stub_paths(&self) -> Said {
        let image = self.image;
        let path = image.env.get("LD_LIBRARY_PATH");
        let (mut found, mut fact) = (Vec::new(), None);
        let complete = !path.is_unknown() && !image.ld_conf.is_unknown() && !image.driver_libraries.is_unknown();
        let named = path.known().into_iter().flat_map(|path| path.split(':')).map(|directory| (directory, path.id));
        let listed = image.ld_conf.known().into_iter().flatten().flat_map(|file| &file.directories);
        let listed = listed.map(|directory| (directory.as_str(), image.ld_conf.id));
        for (directory, id) in named.chain(listed) {
            if directory.trim_end_matches('/').ends_with("/stubs") {
                found.push(directory.to_owned());
                fact = fact.or(Some(id));
            }
        }
        if let State::Known(libraries) = &image.driver_libraries.state {
            for library in libraries.iter().filter(|library| library.stub) {
                found.push(library.path.clone());
                fact = fact.or(Some(image.driver_libraries.id));
            }
        }
        Said::plain(seen(found, complete)).on(fact)
    }
}

/// The versions of compat libraries, each once.
fn versions(libraries: &[CompatLibrary]) -> Vec<String> {
    let mut names: Vec<String> = libraries.iter().map(|library| format!("libcuda.so.{}", library.version)).collect();
    names.sort();
    names.dedup();
    names
}

/// The entries of a list of architectures: blanks, commas and semicolons stand between them.
fn entries(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', ';', ',']).filter(|entry| !entry.is_empty())
}
