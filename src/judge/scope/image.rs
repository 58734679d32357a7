//! What a page may ask of the image itself: environment, file tree, what it starts.

use crate::fact::BuildAskSeen;
use crate::fact::CompatLibrary;
use crate::fact::Depth;
use crate::fact::DriverLibrary;
use crate::fact::FactId;
use crate::fact::Manager;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::infer::ASKED;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::arch_lists::ARCH_LIST;
use crate::judge::scope::arch_lists::Refused;
use crate::judge::scope::arch_lists::entries;
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
use crate::start::is_in_a_hosts_place;

/// How the packages with a compat library begin, before their CUDA release.
const COMPAT: &str = "cuda-compat-";

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
            "image.starts" => self.starts(),
            "image.driver_libraries" => of(&image.driver_libraries, |all| {
                // The stub itself is a part of the toolkit, and so is a link beside it.
                let own = |one: &&DriverLibrary| !one.stub || (one.link && !one.path.contains("/stubs/"));
                seen(all.iter().filter(own).map(|one| one.path.clone()).collect(), true)
            }),
            "image.compat.present" => counted(&image.compat, Value::Bool(false), |_| Value::Bool(true)),
            "image.compat.count" => self.compat_packages(|all| Lookup::Known(number(all.len()))).unwrap_or_else(|| {
                counted(&image.compat, number(0), |compat| number(versions(&compat.libraries).len()))
            }),
            "image.compat.libraries" => self
                .compat_packages(list)
                .unwrap_or_else(|| of(&image.compat, |compat| list(versions(&compat.libraries)))),
            "image.compat.cuda" => of(&image.compat, |compat| compat.cuda.as_ref().map_or(Lookup::Unknown, version)),
            "image.env_set" => self.env_set(),
            "image.env_misspelt" => self.env_misspelt(),
            "image.driver_links" => of(&image.driver_libraries, |all| {
                let links = all.iter().filter(|one| is_in_a_hosts_place(one));
                seen(links.map(|one| one.path.clone()).collect(), true)
            }),
            "build.gpu_asks" => self.build_asks("gpu"),
            "build.code_asks" => self.build_asks("code"),
            "build.missing_installers" => self.build_asks(BuildAskSeen::MISSING_INSTALLER),
            "build.variant_asks" => self.build_asks(BuildAskSeen::BY_DRIVER),
            "arch_list.refused" => self.arch_list_refused(Refused::Entries),
            "arch_list.name" => self.arch_list_refused(Refused::Name),
            "arch_list.compiler" => self.arch_list_refused(Refused::Compiler),
            "arch_list.cubins_alone" => self.arch_list_of_cubins(),
            "arch_list.entries" => of(image.env.get(ARCH_LIST), |value| list(entries(value).map(str::to_owned))),
            "arch_list.ptx" => counted(image.env.get(ARCH_LIST), Value::Bool(false), |value| {
                Value::Bool(entries(value).any(|entry| entry.to_ascii_uppercase().ends_with("+PTX")))
            }),
            _ => return None,
        })
    }

    /// The packages with compat libraries, where commands name several: each brings its own, wherever links lead.
    fn compat_packages(&self, told: impl Fn(Vec<String>) -> Lookup) -> Option<Said> {
        let certain = |one: &&PackageSeen| one.manager == Manager::Apt && one.conditional.is_none();
        let packages = self.seen?.packages.iter().filter(certain).filter(|one| one.name.starts_with(COMPAT));
        let last = packages.clone().next_back()?.fact;
        let mut names: Vec<String> = packages.map(|one| one.name.clone()).collect();
        names.sort();
        names.dedup();
        (names.len() > 1).then(|| Said::plain(told(names)).on(Some(last)))
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

    /// The commands that the image's own ENTRYPOINT and CMD start.
    fn starts(&self) -> Said {
        let said = self.seen.and_then(|all| all.of_base.starts.as_ref());
        let said = said.filter(|(commands, _)| !commands.is_empty());
        let lookup = said.map_or(Lookup::Absent, |(commands, _)| list(commands.iter().cloned()));
        Said::plain(lookup).on(said.map(|(_, fact)| *fact))
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
        let names = found.iter().map(|(name, meant, _)| format!("{name} (did you mean {meant}?)")).collect();
        Said::plain(seen(names, true)).on(found.first().map(|(.., fact)| *fact))
    }

    /// Only the commands of a Dockerfile can be told; of other inputs nobody knows how they were built.
    fn build_asks(&self, what: &str) -> Said {
        let Some(all) = self.seen.filter(|all| all.depth == Depth::Text) else { return Said::plain(Lookup::Absent) };
        let asks: Vec<&BuildAskSeen> = all.build_asks.iter().filter(|ask| ask.what == what).collect();
        let commands = asks.iter().map(|ask| ask.command.clone()).collect();
        Said::plain(seen(commands, true)).on(asks.first().map(|ask| ask.fact))
    }
}

/// The first word of the variables that the container toolkit reads.
const OF_TOOLKIT: &str = "NVIDIA";
/// How those begin whose ends are free.
const FREE: &str = "NVIDIA_REQUIRE_";
/// So many letters may be wrong, and so many of them in the first word.
const WRONG: usize = 3;
const WRONG_AT_FIRST: usize = 2;

/// The variable of the container toolkit that a name nearly is.
fn meant(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    let all = || ASKED.iter().copied().filter(|own| own.starts_with(OF_TOOLKIT));
    let first = upper.split_once('_').map(|(first, _)| distance(first, OF_TOOLKIT))?;
    if all().any(|own| own == name) || name.starts_with(FREE) || first > WRONG_AT_FIRST {
        return None;
    }
    let (wrong, own) = all().map(|own| (distance(&upper, own), own)).min_by_key(|(wrong, _)| *wrong)?;
    (wrong <= WRONG).then_some(own)
}

/// The versions of compat libraries, each once.
fn versions(libraries: &[CompatLibrary]) -> Vec<String> {
    let mut names: Vec<String> = libraries.iter().map(|library| format!("libcuda.so.{}", library.version)).collect();
    names.sort();
    names.dedup();
    names
}
