//! Vocabulary names on lists of GPU architectures that code is compiled for.

use crate::cuda::{CodeTarget, CudaVersion};
use crate::judge::scope::{BlamedLookup, RuleScope, fact_lookup, observed_list_lookup, text_lookup, version_lookup};
use crate::model::fact::{FactId, ObservedArchList, ValueState};
use crate::model::reference::ImageReference;
use crate::rules::{FactLookup, FactValue};

/// The environment variable with the GPU architectures that extensions are compiled for.
pub(super) const ARCH_LIST_VARIABLE: &str = "TORCH_CUDA_ARCH_LIST";

/// A part of the first architecture list with entries that its compiler does not support.
#[derive(Clone, Copy)]
pub(super) enum RefusedListPart {
    /// The unsupported entries.
    Entries,
    /// The variable or option.
    Name,
    /// The CUDA release of the compiler.
    Compiler,
}

/// An architecture list with the CUDA release of the compiler that reads it.
struct CompilerArchList {
    name: String,
    entries: Vec<(String, CodeTarget)>,
    compiler: Option<CudaVersion>,
    fact: FactId,
}

impl RuleScope<'_> {
    /// Returns the list in the environment of the image, then those that commands read.
    fn arch_lists(&self) -> Vec<CompilerArchList> {
        let variable = self.image.env.get(ARCH_LIST_VARIABLE);
        let own = match &variable.state {
            ValueState::Known(value) => {
                let target = |entry: &str| Some((entry.to_owned(), entry.trim_end_matches("+PTX").parse().ok()?));
                let compiler = match self.toolkit_release().lookup {
                    FactLookup::Known(FactValue::Version(cuda)) => Some(CudaVersion(cuda)),
                    _ => None,
                };
                let entries = arch_list_entries(value).filter_map(target).collect();
                Some(CompilerArchList { name: ARCH_LIST_VARIABLE.to_owned(), entries, compiler, fact: variable.id })
            }
            _ => None,
        };
        let sure = own.iter().filter(|list| list.compiler.is_some());
        let listed: Vec<String> = sure.flat_map(|list| &list.entries).map(|(entry, _)| entry.clone()).collect();
        let again = |list: &&ObservedArchList| {
            list.name == ARCH_LIST_VARIABLE && list.entries.iter().all(|(entry, _)| listed.contains(entry))
        };
        let of_commands = self.seen.map_or(&[][..], |all| all.base_changes.arch_lists.as_slice()).iter();
        let of_commands = of_commands.filter(|list| !again(list)).map(|list| CompilerArchList {
            name: list.name.clone(),
            entries: list.entries.clone(),
            compiler: list.compiler.as_ref().and_then(|image| self.compiler_release(image)),
            fact: list.fact,
        });
        own.into_iter().chain(of_commands).collect()
    }

    /// Returns the CUDA release of the compiler in an image, by the name of the image.
    fn compiler_release(&self, image: &ImageReference) -> Option<CudaVersion> {
        self.knowledge.compiler_cuda(&image.familiar_name(), image.tag()?)
    }

    /// Returns a part of the first architecture list with entries that its compiler does not support.
    pub(super) fn unsupported_arch_list(&self, what: RefusedListPart) -> BlamedLookup {
        let mut open = None;
        for list in self.arch_lists() {
            let Some(cuda) = list.compiler else {
                open = open.or(Some(list.fact));
                continue;
            };
            let Some(row) = self.knowledge.target_set(cuda) else {
                open = open.or(Some(list.fact));
                continue;
            };
            let refused = list.entries.iter().filter(|(_, target)| !row.targets.contains(target));
            let refused: Vec<String> = refused.map(|(entry, _)| entry.clone()).collect();
            if !refused.is_empty() {
                let lookup = match what {
                    RefusedListPart::Entries => observed_list_lookup(refused, true),
                    RefusedListPart::Name => text_lookup(list.name),
                    RefusedListPart::Compiler => version_lookup(&cuda),
                };
                return BlamedLookup::without_fact(lookup).with_fact(Some(list.fact));
            }
        }
        let variable = fact_lookup(self.image.env.get(ARCH_LIST_VARIABLE), |_| FactLookup::Absent);
        match (open, &variable.lookup) {
            (Some(_), _) => BlamedLookup::without_fact(FactLookup::Unknown).with_fact(open),
            _ => variable,
        }
    }

    /// Returns the first list of a command that requests no PTX.
    pub(super) fn arch_list_without_ptx(&self) -> BlamedLookup {
        let lists = self.seen.map_or(&[][..], |all| all.base_changes.arch_lists.as_slice());
        match lists.iter().find(|list| list.ptx == Some(false)) {
            Some(list) => BlamedLookup::without_fact(text_lookup(list.name.clone())).with_fact(Some(list.fact)),
            None => BlamedLookup::without_fact(FactLookup::Absent)
                .with_fact(Some(self.image.env.get(ARCH_LIST_VARIABLE).id)),
        }
    }
}

/// Splits an architecture list at blanks, commas and semicolons.
pub(super) fn arch_list_entries(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', ';', ',']).filter(|entry| !entry.is_empty())
}
