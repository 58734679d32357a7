//! What the program predicts: cases, rule examples, public reports, and vectors of NVIDIA's code.

mod batch;
mod cases;
mod compat_vectors;
mod deciding_fields;
mod descriptions;
mod finding_cases;
mod installers;
mod minimum_driver;
mod old_drivers;
mod properties;
mod requirement_vectors;
mod rule_examples;
mod rule_pages;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest")]
mod support;
mod truth;
mod unknown_values;
