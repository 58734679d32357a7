//! What a page may ask of the lists of GPUs that code is compiled for.

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::fact::ArchListSeen;
use crate::fact::FactId;
use crate::fact::State;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::of;
use crate::judge::scope::seen;
use crate::judge::scope::text;
use crate::judge::scope::version;
use crate::reference::ImageReference;
use crate::rules::Lookup;
use crate::rules::Value;

/// The variable that names what extensions are built for: a name that is read, as those of the runtime are.
pub(super) const ARCH_LIST: &str = "TORCH_CUDA_ARCH_LIST";

/// What is asked of the first list with entries that its compiler does not know.
#[derive(Clone, Copy)]
pub(super) enum Refused {
    /// These entries.
    Entries,
    /// The variable or option.
    Name,
    /// The CUDA release of the compiler.
    Compiler,
}

/// A list with the compiler that reads it.
struct Read {
    name: String,
    entries: Vec<(String, CodeTarget)>,
    compiler: Option<CudaVersion>,
    fact: FactId,
}

impl Subject<'_> {
    /// The list in the environment of the image, then those that commands read.
    fn lists(&self) -> Vec<Read> {
        let variable = self.image.env.get(ARCH_LIST);
        let own = match &variable.state {
            State::Known(value) => {
                let target = |entry: &str| Some((entry.to_owned(), entry.trim_end_matches("+PTX").parse().ok()?));
                let compiler = match self.toolkit().lookup {
                    Lookup::Known(Value::Version(cuda)) => Some(CudaVersion(cuda)),
                    _ => None,
                };
                let entries = entries(value).filter_map(target).collect();
                Some(Read { name: ARCH_LIST.to_owned(), entries, compiler, fact: variable.id })
            }
            _ => None,
        };
        let sure = own.iter().filter(|list| list.compiler.is_some());
        let told: Vec<String> = sure.flat_map(|list| &list.entries).map(|(entry, _)| entry.clone()).collect();
        let again =
            |list: &&ArchListSeen| list.name == ARCH_LIST && list.entries.iter().all(|(entry, _)| told.contains(entry));
        let of_commands = self.seen.map_or(&[][..], |all| all.of_base.arch_lists.as_slice()).iter();
        let of_commands = of_commands.filter(|list| !again(list)).map(|list| Read {
            name: list.name.clone(),
            entries: list.entries.clone(),
            compiler: list.compiler.as_ref().and_then(|image| self.compiler_of(image)),
            fact: list.fact,
        });
        own.into_iter().chain(of_commands).collect()
    }

    /// The CUDA release of the compiler that an image brings, by its name.
    fn compiler_of(&self, image: &ImageReference) -> Option<CudaVersion> {
        self.knowledge.compiler_of(&image.familiar(), image.tag()?)
    }

    pub(super) fn arch_list_refused(&self, what: Refused) -> Said {
        let mut open = None;
        for list in self.lists() {
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
                    Refused::Entries => seen(refused, true),
                    Refused::Name => text(list.name),
                    Refused::Compiler => version(&cuda),
                };
                return Said::plain(lookup).on(Some(list.fact));
            }
        }
        let variable = of(self.image.env.get(ARCH_LIST), |_| Lookup::Absent);
        match (open, &variable.lookup) {
            (Some(_), _) => Said::plain(Lookup::Unknown).on(open),
            _ => variable,
        }
    }

    /// The first list of a command that asks for no PTX.
    pub(super) fn arch_list_of_cubins(&self) -> Said {
        let lists = self.seen.map_or(&[][..], |all| all.of_base.arch_lists.as_slice());
        match lists.iter().find(|list| list.ptx == Some(false)) {
            Some(list) => Said::plain(text(list.name.clone())).on(Some(list.fact)),
            None => Said::plain(Lookup::Absent).on(Some(self.image.env.get(ARCH_LIST).id)),
        }
    }
}

/// The entries of a list of architectures: blanks, commas and semicolons stand between them.
pub(super) fn entries(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', ';', ',']).filter(|entry| !entry.is_empty())
}
