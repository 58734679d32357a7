//! The project itself: architecture, docs, texts, tables, integrations.

mod architecture;
mod docs;
mod faults;
mod integrations;
mod prose;
mod record;
mod refresh;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest")]
mod support;
mod tables;
mod torch_cases;
mod writing;
