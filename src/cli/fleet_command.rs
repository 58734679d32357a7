//! `imagelint fleet`: dispatches to its subcommands.

use crate::cli::args::{FleetAction, FleetArgs};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::{fleet_affinity, fleet_import, fleet_init, fleet_show, what_if};
use crate::knowledge::Knowledge;

/// Runs `imagelint fleet`.
pub(crate) fn run(options: &FleetArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    match &options.action {
        FleetAction::Affinity(options) => fleet_affinity::run(options, knowledge),
        FleetAction::Check(options) => fleet_show::run_check(options, knowledge),
        FleetAction::Import(options) => fleet_import::run(options, knowledge),
        FleetAction::Init(options) => fleet_init::run(options, knowledge),
        FleetAction::Show(options) => fleet_show::run_show(options, knowledge),
        FleetAction::WhatIf(options) => what_if::run(options, knowledge),
    }
}
