//! What `scan` takes.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::args::access::AccessArgs;
use crate::cli::args::judging::JudgingArgs;
use crate::cli::args::values::bytes;
use crate::cli::args::values::platform;

/// What `scan` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ScanArgs {
    /// Images: registry/repo:tag, oci:DIR[:NAME], dir:DIR, oci-archive:FILE[:NAME], docker-archive:FILE[:NAME],
    /// docker-daemon:NAME, podman:NAME, or the path of a layout or an archive (./DIR, /FILE).
    #[arg(value_name = "IMAGE", required_unless_present_any = ["from_file", "from_kubernetes", "show_settings"])]
    pub(crate) images: Vec<String>,
    /// Read further names of images from a file, one a line, or from standard input (`-`); `#` begins a comment.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    /// Judge what a cluster runs, each container on the pools that its node selector leaves: `kubectl get pods -A -o json`,
    /// workloads in JSON or YAML, or a compose file; `-` is standard input. Containers without GPUs are left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_kubernetes: Option<PathBuf>,
    /// Take each IMAGE as a repository, and judge every tag of it; artifacts that are no images are left out with a note.
    #[arg(long, conflicts_with = "from_kubernetes")]
    pub(crate) all_tags: bool,
    /// Take each IMAGE as a repository, and judge the tags that this pattern fits, such as '12.*-runtime-*'.
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["all_tags", "from_kubernetes"])]
    pub(crate) tags: Vec<String>,
    /// Read every layer again, and keep nothing for later runs.
    ///
    /// Else what was seen in a layer is kept in the user's cache by digest, up to 1 GiB of it.
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// How to tell progress on standard error: bars on a terminal and nothing elsewhere, unless said.
    #[arg(long, value_enum, default_value_t = Tell::Auto, value_name = "HOW")]
    pub(crate) progress: Tell,
    /// Judge for the pools of these platforms only; for every platform of the fleet where not given.
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = platform)]
    pub(crate) platforms: Vec<String>,
    /// How deep to look: `config` reads two small files of each image, `sbom` also the list of packages that is kept
    /// beside it, whose word is taken, and `layers` every file in it.
    #[arg(long, value_enum, default_value_t = Deep::Layers, value_name = "DEPTH")]
    pub(crate) depth: Deep,
    /// Leave out layers of more packed bytes than this, and say so.
    #[arg(long, value_name = "N", value_parser = bytes)]
    pub(crate) max_layer_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}

/// How deep an image is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deep {
    /// Manifest and configuration.
    Config,
    /// The same and the list of packages (SBOM) beside the image.
    Sbom,
    /// Manifest, configuration and every layer.
    Layers,
}

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tell {
    /// Bars where standard error is a terminal.
    Auto,
    /// Bars.
    Bar,
    /// A line every few seconds.
    Plain,
    /// Not at all.
    None,
}
