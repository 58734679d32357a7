//! Which settings hold, and which findings are known.

use std::path::PathBuf;

/// Which settings hold, and which findings are known.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Settings file for all inputs; else `IMAGELINT_CONFIG`, else imagelint.toml (or .imagelint.toml) beside each input or
    /// above it, up to the repository root, else the user's own.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Read no settings at all.
    #[arg(long)]
    pub(crate) no_config: bool,
    /// Print the settings that hold for the inputs instead, each with where it is said.
    #[arg(long)]
    pub(crate) show_settings: bool,
    /// Tell only findings that are not written down in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings down in a file for `--baseline`, and tell none.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
}

/// Which settings hold, where no findings are told.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SettingsArgs {
    /// Settings file for the input; else as for `check`.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Read no settings at all.
    #[arg(long)]
    no_config: bool,
}

impl SettingsArgs {
    /// The same, as those that judge take it.
    pub(crate) fn whole(&self) -> ConfigArgs {
        ConfigArgs { config: self.config.clone(), no_config: self.no_config, ..ConfigArgs::default() }
    }
}
