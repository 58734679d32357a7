//! Arguments of `imagelint scan`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::args::judging::JudgingArgs;
use crate::cli::args::registry::RegistryArgs;
use crate::cli::args::value_parsers::{parse_byte_size, parse_platform};

/// Arguments of `scan`.
#[derive(Debug, clap::Args)]
pub(crate) struct ScanArgs {
    /// Images to scan: registry/repo:tag, oci:DIR, docker-archive:FILE, docker-daemon:NAME
    ///
    /// Others: oci:DIR:NAME, dir:DIR, oci-archive:FILE[:NAME], docker-archive:FILE[:NAME], podman:NAME, or the path of a
    /// layout or an archive (./DIR, /FILE).
    #[arg(value_name = "IMAGE", required_unless_present_any = ["from_file", "from_kubernetes", "show_settings"], help_heading = "Input")]
    pub(crate) images: Vec<String>,
    /// Read image names from FILE; - is standard input
    ///
    /// One name a line; `#` begins a comment.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) from_file: Option<PathBuf>,
    /// Scan the images that a cluster runs
    ///
    /// FILE is the output of `kubectl get pods -A -o json`, workloads in JSON or YAML, or a compose file; - is standard
    /// input. Each container is checked on the pools that its node selector allows. Containers without GPUs are omitted.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) from_kubernetes: Option<PathBuf>,
    /// Scan every tag of each repository
    ///
    /// imagelint omits artifacts that are not images, with a note.
    #[arg(long, conflicts_with = "from_kubernetes", help_heading = "Input")]
    pub(crate) all_tags: bool,
    /// Scan the tags that match GLOB
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["all_tags", "from_kubernetes"], help_heading = "Input")]
    pub(crate) tags: Vec<String>,
    /// Read every layer again, without the cache
    ///
    /// Otherwise imagelint reuses what it found in a layer, by digest, up to 1 GiB.
    #[arg(long, help_heading = "Registry", hide_short_help = true)]
    pub(crate) no_cache: bool,
    /// Show progress: auto, bar, plain or none
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "HOW", help_heading = "Output", hide_short_help = true)]
    pub(crate) progress: ProgressMode,
    /// Check the pools of these platforms [all]
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = parse_platform, help_heading = "Fleet")]
    pub(crate) platforms: Vec<String>,
    /// Inspect config, sbom or layers
    ///
    /// `config` reads the manifest and the configuration. `sbom` adds the package list of the image. `layers` reads every
    /// file.
    #[arg(long, value_enum, default_value_t = ScanDepth::Layers, value_name = "DEPTH", help_heading = "Input", hide_possible_values = true)]
    pub(crate) depth: ScanDepth,
    /// Skip layers larger than N packed bytes
    #[arg(long, value_name = "N", value_parser = parse_byte_size, help_heading = "Input", hide_short_help = true)]
    pub(crate) max_layer_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) access: RegistryArgs,
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}

/// Depth of the inspection of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanDepth {
    /// Manifest and configuration.
    Config,
    /// The same and the list of packages (SBOM) beside the image.
    Sbom,
    /// Manifest, configuration and every layer.
    Layers,
}

/// Style of the progress display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    /// Bars where standard error is a terminal.
    Auto,
    /// Bars.
    Bar,
    /// A line every few seconds.
    Plain,
    /// Not at all.
    None,
}
