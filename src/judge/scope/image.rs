//! What a page may ask of the image itself: environment, file tree, what it starts.

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::fact::BuildAskSeen;
use crate::fact::CompatLibrary;
use crate::fact::Depth;
use crate::fact::FactId;
use crate::fact::Origin;
use crate::fact::State;
use crate::infer::ASKED;
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
use crate::nearest::distance;
use crate::rules::Lookup;
use crate::rules::Value;

/// The variable that names what extensions are built for: a name that is read, as those of the runtime are.
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
            "image.driver_libraries" => of(&image.driver_libraries, |all| {
                // The stub itself is a part of the toolkit.
                let mut found = all.iter().filter(|one| !one.stub || one.link).map(|one| one.path.clone()).peekable();
                if found.peek().is_some() { list(found) } else { Lookup::Absent }
            }),
            "image.compat.present" => counted(&image.compat, Value::Bool(false), |_| Value::Bool(true)),
            "image.compat.count" => {
                counted(&image.compat, number(0), |compat| number(versions(&compat.libraries).len()))
            }
            "image.compat.libraries" => of(&image.compat, |compat| list(versions(&compat.libraries))),
            "image.compat.cuda" => of(&image.compat, |compat| compat.cuda.as_ref().map_or(Lookup::Unknown, version)),
            "image.env_set" => self.env_set(),
            "image.env_misspelt" => self.env_misspelt(),
            "image.driver_links" => of(&image.driver_libraries, |all| {
                let links: Vec<String> =
                    all.iter().filter(|one| by_soname(&one.path)).map(|one| one.path.clone()).collect();
                seen(links, true)
            }),
            "build.gpu_asks" => self.build_asks("gpu"),
            "build.code_asks" => self.build_asks("code"),
            "build.variant_asks" => self.build_asks("variant"),
            "arch_list.refused" => self.arch_list_refused(),
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

    /// The variables that the input itself sets; an image does not tell them from those of its base.
    fn own_env(&self) -> Option<Vec<(&String, FactId)>> {
        let all = self.seen.filter(|all| matches!(all.depth, Depth::Text | Depth::Description))?;
        let in_file = |fact: FactId| {
            let origins = all.facts.origins(fact);
            !origins.is_empty() && origins.iter().all(|origin| matches!(origin, Origin::File { .. }))
        };
        let own = all.env.iter().map(|(name, (_, fact))| (name, *fact));
        Some(own.filter(|(_, fact)| in_file(*fact)).collect())
    }

    fn env_set(&self) -> Said {
        let Some(own) = self.own_env() else { return Said::plain(Lookup::Unknown) };
        let names = own.iter().map(|(name, _)| (*name).clone()).collect();
        Said::plain(seen(names, true)).on(own.first().map(|(_, fact)| *fact))
    }

    fn env_misspelt(&self) -> Said {
        let Some(all) = self.seen else { return Said::plain(Lookup::Unknown) };
        let found = all.env.iter().filter_map(|(name, (_, fact))| Some((name, meant(name)?, *fact)));
        let found: Vec<(&String, &str, FactId)> = found.collect();
        let names = found.iter().map(|(name, meant, _)| format!("{name} ({meant})")).collect();
        Said::plain(seen(names, true)).on(found.first().map(|(.., fact)| *fact))
    }

    /// Only the commands of a Dockerfile can be told; of other inputs nobody knows how they were built.
    fn build_asks(&self, what: &str) -> Said {
        let Some(all) = self.seen.filter(|all| all.depth == Depth::Text) else { return Said::plain(Lookup::Absent) };
        let asks: Vec<&BuildAskSeen> = all.build_asks.iter().filter(|ask| ask.what == what).collect();
        let commands = asks.iter().map(|ask| ask.command.clone()).collect();
        Said::plain(seen(commands, true)).on(asks.first().map(|ask| ask.fact))
    }

    fn arch_list_refused(&self) -> Said {
        let variable = self.image.env.get(ARCH_LIST);
        let listed = of(variable, |value| list(entries(value).map(str::to_owned)));
        let State::Known(value) = &variable.state else { return listed };
        let targets = match self.toolkit().lookup {
            Lookup::Known(Value::Version(cuda)) => self.knowledge.target_set(CudaVersion(cuda)),
            _ => None,
        };
        let Some(row) = targets else { return Said { lookup: Lookup::Unknown, ..listed } };
        let number = |entry: &&str| {
            let target: CodeTarget = entry.trim_end_matches("+PTX").parse().ok()?;
            Some(target)
        };
        let refused = |entry: &&str| number(entry).is_some_and(|target| !row.targets.contains(&target));
        let found = entries(value).filter(refused).map(str::to_owned).collect();
        Said { lookup: seen(found, true), ..listed }
    }

    /// Directories of stubs that the loader looks into.
    fn stub_paths(&self) -> Said {
        let image = self.image;
        let path = image.env.get("LD_LIBRARY_PATH");
        let (mut found, mut fact) = (Vec::new(), None);
        let complete = !path.is_unknown() && !image.ld_conf.is_unknown();
        let named = path.known().into_iter().flat_map(|path| path.split(':')).map(|directory| (directory, path.id));
        let listed = image.ld_conf.known().into_iter().flatten().flat_map(|file| &file.directories);
        let listed = listed.map(|directory| (directory.as_str(), image.ld_conf.id));
        for (directory, id) in named.chain(listed) {
            if directory.trim_end_matches('/').ends_with("/stubs") {
                found.push(directory.to_owned());
                fact = fact.or(Some(id));
            }
        }
        Said::plain(seen(found, complete)).on(fact)
    }
}

/// How the variables begin that the container toolkit reads.
const OF_TOOLKIT: &str = "NVIDIA_";
/// How those begin whose ends are free.
const FREE: &str = "NVIDIA_REQUIRE_";
/// So many letters may be wrong.
const WRONG: usize = 3;

/// The variable of the container toolkit that a name nearly is.
fn meant(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    let all = || ASKED.iter().copied().filter(|own| own.starts_with(OF_TOOLKIT));
    if all().any(|own| own == name) || name.starts_with(FREE) || !upper.starts_with(OF_TOOLKIT) {
        return None;
    }
    let (wrong, own) = all().map(|own| (distance(&upper, own), own)).min_by_key(|(wrong, _)| *wrong)?;
    (wrong <= WRONG).then_some(own)
}

/// Whether a path ends in the soname of a library, or in less, with no version behind it.
fn by_soname(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.contains('/') && name.rsplit_once(".so").is_some_and(|(_, end)| matches!(end, "" | ".1"))
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
