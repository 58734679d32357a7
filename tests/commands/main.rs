//! The commands, from outside.

mod cli;
mod compare;
mod fleet;
mod knowledge;
mod lsp;
mod needs;
mod rule_aliases;
mod rules;
mod settings;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest")]
mod support;
mod what_if;
