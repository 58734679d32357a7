//! The closed list of names that conditions, messages and `blame` may use.

use crate::nearest::nearest;
use crate::rules::value::Type;

/// One name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name; one that ends in `.*` stands for all names that begin so.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Unit or form of the value; empty where the meaning says it.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// A list of names.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    /// All names.
    pub entries: &'static [Entry],
}

impl Vocabulary {
    /// The vocabulary of the pages.
    pub const fn built_in() -> Self {
        Self { entries: ENTRIES }
    }

    /// The entry that a name falls under.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.entries.iter().find(|entry| match entry.name.strip_suffix('*') {
            Some(prefix) => name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && !rest.contains('.')),
            None => entry.name == name,
        })
    }

    /// The name most like a wrong one.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.entries.iter().map(|entry| entry.name))
    }
}

const fn entry(name: &'static str, kind: Type, unit: &'static str, doc: &'static str) -> Entry {
    Entry { name, kind, unit, doc }
}

const ENTRIES: &[Entry] = &[
    entry("image.base", Type::Text, "reference", "the base image as resolved, with repository and tag or digest"),
    entry("image.base.repository", Type::Text, "reference without tag", "where the base image is kept"),
    entry("image.base.tag", Type::Text, "tag", "tag of the base image"),
    entry("image.base.digest", Type::Text, "sha256:…", "digest that the base image is pinned to"),
    entry("image.base.cuda", Type::Version, "CUDA release", "CUDA release that the base image holds"),
    entry("image.base.floating", Type::Bool, "", "no digest, and the tag names no version or is `latest`"),
    entry("image.base.withdrawn", Type::Bool, "", "the tag is no longer served"),
    entry("image.base.instead", Type::Text, "tag", "tag that takes the place of a withdrawn one"),
    entry("image.base.nvidia", Type::Bool, "", "the base image is one of NVIDIA's"),
    entry("image.gpu_content", Type::Bool, "", "something in the image concerns a GPU"),
    entry("image.env.*", Type::Text, "", "a variable of the image's environment"),
    entry(
        "image.driver_libraries",
        Type::List,
        "package names or paths",
        "driver files baked in outside compat directories",
    ),
    entry("image.ld_library_path", Type::Text, "directories with colons", "where the loader looks first"),
    entry("torch.present", Type::Bool, "", "PyTorch is installed"),
    entry("torch.version", Type::Text, "PEP 440", "version of PyTorch with its local part"),
    entry("torch.pinned", Type::Bool, "", "the version of PyTorch is written down"),
    entry("torch.cuda", Type::Version, "CUDA release", "CUDA release that PyTorch was built with"),
    entry("torch.variant", Type::Text, "cu121, cpu, rocm6.0", "which build of PyTorch it is"),
    entry("torch.cpu_build", Type::Bool, "", "PyTorch was built without GPU code"),
    entry("tensorflow.present", Type::Bool, "", "TensorFlow is installed"),
    entry("tensorflow.version", Type::Text, "PEP 440", "version of TensorFlow with its local part"),
    entry("tensorflow.pinned", Type::Bool, "", "the version of TensorFlow is written down"),
    entry("tensorflow.cuda", Type::Version, "CUDA release", "CUDA release that TensorFlow was built with"),
    entry("tensorflow.variant", Type::Text, "cpu, …", "which build of TensorFlow it is"),
    entry("tensorflow.cpu_build", Type::Bool, "", "TensorFlow was built without GPU code"),
    entry(
        "component.name",
        Type::Text,
        "",
        "name of a component; only inside `components.exists` and `components.all`",
    ),
    entry("component.version", Type::Text, "", "its version"),
    entry("component.cuda", Type::Version, "CUDA release", "CUDA release that it was built with"),
    entry("notice.message", Type::Text, "a sentence", "what the reader took note of; only on pages with a `notice`"),
    entry("pool.name", Type::Text, "", "name of the pool"),
    entry("pool.gpu", Type::Text, "", "GPU of the pool as written"),
    entry("pool.driver", Type::Version, "driver version", "kernel-mode driver of the pool"),
    entry("pool.launch", Type::Text, "docker-gpus, kubernetes, …", "how containers are started there"),
    entry("verdict.outcome", Type::Text, "outcome name", "how the start-up fails; absent where it does not"),
    entry("verdict.fate", Type::Text, "starts, fails, depends, undetermined", "what becomes of the image on the pool"),
    entry("verdict.message", Type::Text, "a sentence", "what a user would see"),
    entry(
        "verdict.without_gpu",
        Type::Text,
        "a sentence",
        "why a program starts there and uses no GPU; absent where it is not known to",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_exactly_one_further_word() {
        let words = Vocabulary::built_in();
        assert_eq!(words.find("image.env.NVIDIA_REQUIRE_CUDA").map(|entry| entry.kind), Some(Type::Text));
        for name in ["image.env", "image.env.", "image.env.a.b", "image.bas", "", "*"] {
            assert!(words.find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn no_name_is_listed_twice() {
        for (at, entry) in ENTRIES.iter().enumerate() {
            assert!(ENTRIES[at + 1..].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }
}
