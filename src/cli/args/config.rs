//! Arguments on settings files and baselines.

use std::path::PathBuf;

/// Which settings hold, and which findings are known.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Read settings from FILE [nearest imagelint.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_CONFIG`, else imagelint.toml or .imagelint.toml next to each
    /// input or above, up to the repository root, else the user's own.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,
    /// Ignore all settings files
    #[arg(long, help_heading = "Settings", hide_short_help = true)]
    pub(crate) no_config: bool,
    /// Print the effective settings and their source
    #[arg(long, help_heading = "Settings", hide_short_help = true)]
    pub(crate) show_settings: bool,
    /// Report findings missing from this baseline only
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings to a baseline
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(crate) write_baseline: Option<PathBuf>,
}

/// Settings file options of commands without findings.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SettingsArgs {
    /// Read settings from FILE [nearest imagelint.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_CONFIG`, else imagelint.toml or .imagelint.toml next to each
    /// input or above, up to the repository root, else the user's own.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config", help_heading = "Settings")]
    config: Option<PathBuf>,
    /// Ignore all settings files
    #[arg(long, help_heading = "Settings", hide_short_help = true)]
    no_config: bool,
}

impl SettingsArgs {
    /// Converts to the arguments of commands with findings, without a baseline.
    pub(crate) fn to_config_args(&self) -> ConfigArgs {
        ConfigArgs { config: self.config.clone(), no_config: self.no_config, ..ConfigArgs::default() }
    }
}
