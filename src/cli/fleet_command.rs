//! `imagelint fleet`: the file of node pools, from what exists, looked at and compared.

use crate::cli::Failure;
use crate::cli::args::FleetArgs;
use crate::cli::args::FleetDo;
use crate::cli::exit::Exit;
use crate::cli::fleet_affinity;
use crate::cli::fleet_import;
use crate::cli::fleet_init;
use crate::cli::fleet_show;
use crate::cli::what_if;
use crate::knowledge::Knowledge;

/// Runs it.
pub(crate) fn run(options: &FleetArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    match &options.action {
        FleetDo::Affinity(options) => fleet_affinity::run(options, knowledge),
        FleetDo::Check(options) => fleet_show::check(options, knowledge),
        FleetDo::Import(options) => fleet_import::run(options, knowledge),
        FleetDo::Init(options) => fleet_init::run(options, knowledge),
        FleetDo::Show(options) => fleet_show::run(options, knowledge),
        FleetDo::WhatIf(options) => what_if::run(options, knowledge),
    }
}
