//! `imagelint fleet`: what can be done with a fleet.

use crate::cli::Failure;
use crate::cli::args::FleetArgs;
use crate::cli::args::FleetDo;
use crate::cli::exit::Exit;
use crate::cli::what_if;
use crate::knowledge::Knowledge;

/// Runs it.
pub(crate) fn run(options: &FleetArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    match &options.action {
        FleetDo::WhatIf(options) => what_if::run(options, knowledge),
    }
}
