//! The command line.

use std::path::PathBuf;

use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;
use jiff::civil::Date;

use crate::oci::Platform;
use crate::rules::Persona;

/// Says on which node pools a GPU container will not start, and why, before anything is built or scheduled.
#[derive(Debug, Parser)]
#[command(name = "imagelint", version = version(), arg_required_else_help = true)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Folder with tables of your own: rows beside or instead of the built-in ones, in the same form.
    ///
    /// Else `IMAGELINT_KNOWLEDGE`, where that is set and not empty.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) knowledge: Option<PathBuf>,
}

fn version() -> &'static str {
    let knowledge = crate::knowledge::Knowledge::built_in().newest_date();
    // One leak of a few bytes in a process that ends: clap keeps static texts alone.
    String::leak(format!("{} (knowledge of {knowledge})", env!("CARGO_PKG_VERSION")))
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge Dockerfiles, image descriptions and saved reports, offline.
    ///
    /// Example: imagelint check --fleet fleet.toml Dockerfile
    Check(CheckArgs),
    /// Judge images in registries, archives and engines by their manifest and configuration.
    ///
    /// Example: imagelint scan --fleet fleet.toml nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04
    Scan(ScanArgs),
    /// Print the image description of an input: what imagelint sees in it.
    ///
    /// Example: imagelint describe Dockerfile > Dockerfile.image.toml
    Describe(DescribeArgs),
    /// Print what the tables say of a thing, with source and date; without a thing: the tables.
    ///
    /// Example: imagelint knowledge gpu A100
    Knowledge(KnowledgeArgs),
    /// Write down what registries say of the base images of Dockerfiles, so that checks know it without a network.
    ///
    /// Example: imagelint lock .
    Lock(LockArgs),
    /// Tell how much is kept on the disk for later runs, or remove it.
    ///
    /// Example: imagelint cache info
    Cache(CacheArgs),
    /// Say what an input demands of any node, without a fleet: the drivers that it starts on, by GPU and launch.
    ///
    /// Example: imagelint needs Dockerfile
    Needs(NeedsArgs),
}

/// What `knowledge` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct KnowledgeArgs {
    /// Kind of thing: gpu, driver, cuda, torch, base, toolkit, error, framework, requirement, table.
    #[arg(value_name = "KIND")]
    pub(crate) subject: Option<String>,
    /// Its name or version.
    #[arg(value_name = "KEY")]
    pub(crate) key: Vec<String>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// What `check` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Dockerfiles, image descriptions (*.image.toml), saved JSON reports, folders, or - for a Dockerfile on standard input.
    ///
    /// For a list of packages, a lock of them or a script, the Dockerfiles of the repository that read it are judged.
    ///
    /// The current folder where no path and no file of builds is given.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Judge the targets of a bake file (docker-bake.hcl or JSON), each as a build of its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) bake: Vec<PathBuf>,
    /// Judge the services of a compose file that are built, each as a build of its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) compose: Vec<PathBuf>,
    /// Name of the Dockerfile on standard input, for the report, the fleet's patterns and what lies beside it.
    #[arg(long, value_name = "PATH")]
    pub(crate) stdin_filename: Option<PathBuf>,
    /// List the files instead, each with what in it concerns a GPU or why nothing does.
    #[arg(long)]
    pub(crate) show_files: bool,
    /// Read manifest and configuration of base images from their registries.
    #[arg(long)]
    pub(crate) pull: bool,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) set: BuildSet,
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}

/// How a Dockerfile is built.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_field_names, reason = "a build argument is called that")]
pub(crate) struct BuildArgs {
    /// Value of a build argument, as given to the build.
    #[arg(long = "build-arg", value_name = "NAME=VALUE", value_parser = build_arg)]
    pub(crate) build_args: Vec<(String, String)>,
    /// Stage that ships; the last one where not given.
    #[arg(long, value_name = "STAGE")]
    pub(crate) target: Option<String>,
    /// Folder of the build context; the Dockerfile's own where not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) context: Option<PathBuf>,
    /// Ask registries for the configurations of base images again, and keep none of them.
    ///
    /// Else those read before are taken from the user's cache, by digest; which digest a tag has is always asked.
    #[arg(long)]
    pub(crate) no_cache: bool,
}

/// What a build is told beside its arguments.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct BuildSet {
    /// Platforms that the image is built for; that of each pool where not given.
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = platform)]
    pub(crate) platforms: Vec<String>,
    /// Judge each stage that no other stage needs, not the last one alone.
    #[arg(long, conflicts_with = "target")]
    pub(crate) all_targets: bool,
}

impl JudgingArgs {
    /// How many workers to use.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.map_or_else(crate::cli::parallel::default_jobs, std::num::NonZero::get)
    }
}

/// What `scan` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ScanArgs {
    /// Images: registry/repo:tag, oci:DIR[:NAME], oci-archive:FILE[:NAME], docker-archive:FILE[:NAME],
    /// docker-daemon:NAME, podman:NAME, or the path of a layout or an archive.
    #[arg(value_name = "IMAGE", required_unless_present_any = ["from_file", "from_kubernetes"])]
    pub(crate) images: Vec<String>,
    /// Read further names of images from a file, one a line, or from standard input (`-`); `#` begins a comment.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    /// Judge what a cluster runs, each container on the pools that its node selector leaves: `kubectl get pods -A -o json`,
    /// workloads in JSON or YAML, or a compose file; `-` is standard input. Containers without GPUs are left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_kubernetes: Option<PathBuf>,
    /// Take each IMAGE as a repository, and judge every tag of it.
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
    /// How deep to look: `config` reads two small files of each image, `layers` every file in it.
    #[arg(long, value_enum, default_value_t = Deep::Layers, value_name = "DEPTH")]
    pub(crate) depth: Deep,
    /// Leave out layers of more packed bytes than this, and say so.
    #[arg(long, value_name = "N", value_parser = bytes)]
    pub(crate) max_layer_bytes: Option<u64>,
    /// User name for the registry that the images are in; stored credentials are used where not given.
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    pub(crate) username: Option<String>,
    /// Read the password of that user from standard input.
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
    /// File of certificates (PEM) to trust beside those of the system.
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Vec<PathBuf>,
    /// Registry (host and port) to speak to in plain HTTP; those of this machine need no such word.
    #[arg(long, value_name = "HOST")]
    pub(crate) plain_http: Vec<String>,
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}

/// What `describe` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct DescribeArgs {
    /// A Dockerfile, an image description, or an image as `scan` takes it.
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Platform to describe it for.
    #[arg(long, default_value = "linux/amd64")]
    pub(crate) platform: String,
    /// Take images as they were built on this day (YYYY-MM-DD): the description says it.
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<Date>,
    /// Read manifest and configuration of base images from their registries.
    #[arg(long)]
    pub(crate) pull: bool,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// What `lock` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct LockArgs {
    /// Dockerfiles or folders; the current folder where none is given.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Lock the bases of the targets of a bake file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) bake: Vec<PathBuf>,
    /// Lock the bases of the services of a compose file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) compose: Vec<PathBuf>,
    /// The lock file; else imagelint.lock where there is one, beside the fleet file, or at the repository's root.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing; exit with 1 where a base moved or is not locked.
    #[arg(long)]
    pub(crate) check: bool,
    /// Platforms to lock bases for; linux/amd64 and linux/arm64 where not given.
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = platform)]
    pub(crate) platforms: Vec<String>,
    /// Lock for each stage that no other stage needs, not the last one alone.
    #[arg(long, conflicts_with = "target")]
    pub(crate) all_targets: bool,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// What `cache` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct CacheArgs {
    /// What to do with it.
    #[arg(value_enum)]
    pub(crate) action: CacheDo,
}

/// What can be done with the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheDo {
    /// Tell where it is and how much is in it.
    Info,
    /// Remove everything in it.
    Clear,
}

/// What `needs` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct NeedsArgs {
    /// A Dockerfile, an image description, or an image as `scan` takes it.
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Platform to ask for.
    #[arg(long, default_value = "linux/amd64")]
    pub(crate) platform: String,
    /// Take images as they were built on this day (YYYY-MM-DD).
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<Date>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// Read manifest and configuration of base images from their registries.
    #[arg(long)]
    pub(crate) pull: bool,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// What to judge against, and how to tell it.
#[derive(Debug, clap::Args)]
pub(crate) struct JudgingArgs {
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in the first input's folder or
    /// above it, up to the repository root.
    #[arg(long, value_name = "FILE")]
    pub(crate) fleet: Option<PathBuf>,
    /// Judge for these pools only.
    #[arg(long = "pool", value_name = "NAME")]
    pub(crate) pools: Vec<String>,
    /// Folder with rule pages of your own.
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Vec<PathBuf>,
    /// Whose rules speak: regular, pedantic, auditor.
    #[arg(long, value_name = "WHO", default_value = "regular", value_parser = persona)]
    pub(crate) persona: Persona,
    /// Take images as they were built on this day (YYYY-MM-DD).
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<Date>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    pub(crate) format: ReportFormat,
    /// Print the chain of steps behind each verdict, for one pool or all.
    #[arg(long, value_name = "POOL", num_args = 0..=1, default_missing_value = "")]
    pub(crate) why: Option<String>,
    /// Exit with 1 at findings of this severity and above; `undetermined` also where something cannot be told.
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "LEVEL")]
    pub(crate) fail_on: FailOn,
    /// Colour in the output.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    /// How many files are worked on at once; as many as there are processors where not given.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZero<usize>>,
    /// Tell also what was found to have no GPU content.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Formats of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
}

/// How deep an image is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deep {
    /// Manifest and configuration.
    Config,
    /// The same and every layer.
    Layers,
}

/// Formats of a report on subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
    /// A line of JSON for each subject as it is done, and a summary at the end.
    Ndjson,
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

/// What makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings; a verdict that depends or cannot be told is a warning.
    Warning,
    /// Errors, warnings and notes.
    Note,
    /// Errors, and verdicts that depend or cannot be told.
    Undetermined,
    /// Nothing.
    Never,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless the environment says otherwise.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

fn build_arg(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

fn platform(text: &str) -> Result<String, String> {
    match text.parse::<Platform>() {
        Ok(platform) => Ok(platform.to_string()),
        Err(_) => Err("expected os/architecture, such as linux/arm64".to_owned()),
    }
}

/// A number of bytes, with or without a unit: `500MB`, `2GiB`.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes, such as 500000000, 500MB or 2GiB".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

fn persona(text: &str) -> Result<Persona, String> {
    text.parse().map_err(|()| format!("expected one of {}", Persona::WORDS.join(", ")))
}
