//! Vocabulary names on the image itself: environment, file tree, entrypoint.

use crate::infer::STARTUP_VARIABLES;
use crate::judge::scope::arch_lists::{ARCH_LIST_VARIABLE, RefusedListPart, arch_list_entries};
use crate::judge::scope::{
    BlamedLookup, RuleScope, bool_lookup, fact_lookup, fact_lookup_with_default, list_lookup, number_value,
    observed_list_lookup, text_lookup, version_lookup,
};
use crate::model::fact::{
    BuildMachineProperty, BuildMachineQuery, CompatLibrary, DriverLibrary, FactId, InspectionDepth, Origin,
};
use crate::model::package::{ObservedPackage, PackageManager};
use crate::replay::is_link_at_wsl_library_path;
use crate::rules::{FactLookup, FactValue};
use crate::text::nearest::edit_distance;

/// Name prefix of packages with a compat library, before their CUDA release.
const COMPAT_PACKAGE_PREFIX: &str = "cuda-compat-";

impl RuleScope<'_> {
    /// Returns the value of a name on the image; `None` for other names.
    pub(super) fn image_lookup(&self, name: &str) -> Option<BlamedLookup> {
        let image = self.image;
        if let Some(variable) = name.strip_prefix("image.env.") {
            return Some(fact_lookup(image.env.get(variable), |value| text_lookup(value)));
        }
        Some(match name {
            "image.gpu_content" => BlamedLookup::without_fact(bool_lookup(image.gpu_content)),
            "image.platforms" => fact_lookup(&image.platforms, |all| list_lookup(all.iter().cloned())),
            "image.entrypoint" => self.entrypoint(),
            "image.starts" => self.start_commands(),
            "image.driver_libraries" => fact_lookup(&image.driver_libraries, |all| {
                // The stub is part of the toolkit, and so is a link next to it.
                let own = |one: &&DriverLibrary| !one.stub || (one.link && !one.path.contains("/stubs/"));
                observed_list_lookup(all.iter().filter(own).map(|one| one.path.clone()).collect(), true)
            }),
            "image.compat.present" => {
                fact_lookup_with_default(&image.compat, FactValue::Bool(false), |_| FactValue::Bool(true))
            }
            "image.compat.count" => {
                self.compat_packages(|all| FactLookup::Known(number_value(all.len()))).unwrap_or_else(|| {
                    fact_lookup_with_default(&image.compat, number_value(0), |compat| {
                        number_value(compat_library_names(&compat.libraries).len())
                    })
                })
            }
            "image.compat.libraries" => self.compat_packages(list_lookup).unwrap_or_else(|| {
                fact_lookup(&image.compat, |compat| list_lookup(compat_library_names(&compat.libraries)))
            }),
            "image.compat.cuda" => {
                fact_lookup(&image.compat, |compat| compat.cuda.as_ref().map_or(FactLookup::Unknown, version_lookup))
            }
            "image.env_set" => self.set_variables(),
            "image.env_misspelt" => self.misspelt_variables(),
            "image.driver_links" => fact_lookup(&image.driver_libraries, |all| {
                let links = all.iter().filter(|one| is_link_at_wsl_library_path(one));
                observed_list_lookup(links.map(|one| one.path.clone()).collect(), true)
            }),
            "build.gpu_asks" => self.build_commands(BuildMachineProperty::Gpu),
            "build.code_asks" => self.build_commands(BuildMachineProperty::Code),
            "build.missing_installers" => self.build_commands(BuildMachineProperty::Installer),
            "build.variant_asks" => self.build_commands(BuildMachineProperty::Variant),
            "arch_list.refused" => self.unsupported_arch_list(RefusedListPart::Entries),
            "arch_list.name" => self.unsupported_arch_list(RefusedListPart::Name),
            "arch_list.compiler" => self.unsupported_arch_list(RefusedListPart::Compiler),
            "arch_list.cubins_alone" => self.arch_list_without_ptx(),
            "arch_list.entries" => fact_lookup(image.env.get(ARCH_LIST_VARIABLE), |value| {
                list_lookup(arch_list_entries(value).map(str::to_owned))
            }),
            "arch_list.ptx" => {
                fact_lookup_with_default(image.env.get(ARCH_LIST_VARIABLE), FactValue::Bool(false), |value| {
                    FactValue::Bool(arch_list_entries(value).any(|entry| entry.to_ascii_uppercase().ends_with("+PTX")))
                })
            }
            _ => return None,
        })
    }

    /// Returns the packages with compat libraries, if commands install several.
    fn compat_packages(&self, to_lookup: impl Fn(Vec<String>) -> FactLookup) -> Option<BlamedLookup> {
        let certain =
            |one: &&ObservedPackage| one.requirement.manager == PackageManager::System && one.conditional.is_none();
        let packages = self
            .seen?
            .packages
            .iter()
            .filter(certain)
            .filter(|one| one.requirement.name.starts_with(COMPAT_PACKAGE_PREFIX));
        let last = packages.clone().next_back()?.fact;
        let mut names: Vec<String> = packages.map(|one| one.requirement.name.to_string()).collect();
        names.sort();
        names.dedup();
        (names.len() > 1).then(|| BlamedLookup::without_fact(to_lookup(names)).with_fact(Some(last)))
    }

    /// Returns the entrypoint; absent only if the whole configuration was read.
    fn entrypoint(&self) -> BlamedLookup {
        let Some(all) = self.seen else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        match &all.entrypoint {
            Some((words, fact)) => {
                BlamedLookup::without_fact(list_lookup(words.iter().cloned())).with_fact(Some(*fact))
            }
            None if all.complete.env => BlamedLookup::without_fact(FactLookup::Absent),
            None => BlamedLookup::without_fact(FactLookup::Unknown),
        }
    }

    /// Returns the commands that the ENTRYPOINT and CMD of the image itself start.
    fn start_commands(&self) -> BlamedLookup {
        let starts = self.seen.and_then(|all| all.base_changes.starts.as_ref());
        let starts = starts.filter(|(commands, _)| !commands.is_empty());
        let lookup = starts.map_or(FactLookup::Absent, |(commands, _)| list_lookup(commands.iter().cloned()));
        BlamedLookup::without_fact(lookup).with_fact(starts.map(|(_, fact)| *fact))
    }

    /// Returns the variables that the input itself sets; `None` for an image, which mixes them with those of its
    /// base.
    fn input_variables(&self) -> Option<Vec<(&String, FactId)>> {
        let all = self.seen.filter(|all| matches!(all.depth, InspectionDepth::Text | InspectionDepth::Description))?;
        let in_file = |fact: FactId| {
            let origins = all.facts.origins(fact);
            !origins.is_empty() && origins.iter().all(|origin| matches!(origin, Origin::File { .. }))
        };
        let own = all.env.iter().map(|(name, (_, fact))| (name, *fact));
        Some(own.filter(|(_, fact)| in_file(*fact)).collect())
    }

    /// Returns the names of the variables that the input itself sets.
    fn set_variables(&self) -> BlamedLookup {
        let Some(own) = self.input_variables() else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let names = own.iter().map(|(name, _)| (*name).clone()).collect();
        BlamedLookup::without_fact(observed_list_lookup(names, true)).with_fact(own.first().map(|(_, fact)| *fact))
    }

    /// Returns the variables with misspelt names, each with a suggestion.
    fn misspelt_variables(&self) -> BlamedLookup {
        let Some(all) = self.seen else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let found = all.env.iter().filter_map(|(name, (_, fact))| Some((name, suggested_variable(name)?, *fact)));
        let found: Vec<(&String, &str, FactId)> = found.collect();
        let names = found.iter().map(|(name, suggestion, _)| format!("{name} (did you mean {suggestion}?)")).collect();
        BlamedLookup::without_fact(observed_list_lookup(names, true)).with_fact(found.first().map(|(.., fact)| *fact))
    }

    /// Returns the build commands with a property; absent unless the input is a Dockerfile.
    fn build_commands(&self, what: BuildMachineProperty) -> BlamedLookup {
        let Some(all) = self.seen.filter(|all| all.depth == InspectionDepth::Text) else {
            return BlamedLookup::without_fact(FactLookup::Absent);
        };
        let asks: Vec<&BuildMachineQuery> = all.build_probes.iter().filter(|ask| ask.what == what).collect();
        let commands = asks.iter().map(|ask| ask.command.clone()).collect();
        BlamedLookup::without_fact(observed_list_lookup(commands, true)).with_fact(asks.first().map(|ask| ask.fact))
    }
}

/// First part of the names of variables that the container toolkit reads.
const TOOLKIT_VARIABLE_PREFIX: &str = "NVIDIA";
/// Prefix of variables with any suffix.
const REQUIRE_VARIABLE_PREFIX: &str = "NVIDIA_REQUIRE_";
/// Maximum number of wrong letters in a misspelt name.
const MAX_TYPOS: usize = 3;
/// Maximum number of wrong letters in the first part of a misspelt name.
const MAX_PREFIX_TYPOS: usize = 2;

/// Returns the variable of the container toolkit of which a name is a misspelling.
fn suggested_variable(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    let all = || STARTUP_VARIABLES.iter().copied().filter(|own| own.starts_with(TOOLKIT_VARIABLE_PREFIX));
    let first = upper.split_once('_').map(|(first, _)| edit_distance(first, TOOLKIT_VARIABLE_PREFIX))?;
    if all().any(|own| own == name) || name.starts_with(REQUIRE_VARIABLE_PREFIX) || first > MAX_PREFIX_TYPOS {
        return None;
    }
    let (wrong, own) = all().map(|own| (edit_distance(&upper, own), own)).min_by_key(|(wrong, _)| *wrong)?;
    (wrong <= MAX_TYPOS).then_some(own)
}

/// Returns the file names of compat libraries with their versions, each once.
fn compat_library_names(libraries: &[CompatLibrary]) -> Vec<String> {
    let mut names: Vec<String> = libraries.iter().map(|library| format!("libcuda.so.{}", library.version)).collect();
    names.sort();
    names.dedup();
    names
}
