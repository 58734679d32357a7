//! What `fleet` takes.

use clap::Subcommand;

use crate::cli::args::what_if::WhatIfArgs;

/// What `fleet` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub(crate) action: FleetDo,
}

/// What can be done with a fleet.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetDo {
    /// Say what becomes of images if the fleet were another: other drivers, new pools, pools that go.
    ///
    /// Example: imagelint fleet what-if report.json --set t4.driver=550.54.15 --add 'b200: gpu=B200, driver=580.95.05'
    WhatIf(WhatIfArgs),
}
