//! The keywords for launch methods, modes, runtimes and strategies in a fleet file.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::fleet::{DeviceListStrategy, Launch, Mode, Runtime};

/// A keyword that is not in its closed set.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown {what} `{word}`")]
pub struct UnknownWord {
    /// The word as written.
    pub word: String,
    /// What it should have named.
    pub what: &'static str,
}

macro_rules! words {
    ($($name:ident, $what:literal: $($variant:ident = $word:literal,)*;)*) => {$(
        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// All their words, in the order of [`Self::ALL`].
            pub const WORDS: &[&str] = &[$($word,)*];

            /// The word of a fleet file.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(UnknownWord { word: word.to_owned(), what: $what }),
                }
            }
        }
    )*};
}

words! {
    Launch, "launch":
        DockerGpus = "docker-gpus",
        DockerCdi = "docker-cdi",
        NvidiaRuntime = "nvidia-runtime",
        Kubernetes = "kubernetes",
        PodmanCdi = "podman-cdi",
        Enroot = "enroot",
        Singularity = "singularity",
        Gke = "gke",
        Native = "native",;
    Mode, "mode":
        Legacy = "legacy",
        JitCdi = "jit-cdi",
        Cdi = "cdi",
        Csv = "csv",
        None = "none",;
    Runtime, "runtime":
        Nvidia = "nvidia",
        Runc = "runc",;
    DeviceListStrategy, "device list strategy":
        Envvar = "envvar",
        VolumeMounts = "volume-mounts",
        CdiAnnotations = "cdi-annotations",
        CdiCri = "cdi-cri",;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_survives_parsing_and_formatting() {
        for launch in Launch::ALL {
            assert_eq!(launch.as_str().parse(), Ok(*launch));
        }
        for mode in Mode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(*mode));
        }
        for strategy in DeviceListStrategy::ALL {
            assert_eq!(strategy.as_str().parse(), Ok(*strategy));
        }
        for runtime in Runtime::ALL {
            assert_eq!(runtime.as_str().parse(), Ok(*runtime));
        }
        assert!("k8s".parse::<Launch>().is_err());
    }
}
