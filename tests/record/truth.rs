//! The public reports, as their tests read them.

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../verdicts/truth/data.rs"]
pub(crate) mod data;
#[path = "../verdicts/truth/mapper.rs"]
pub(crate) mod mapper;
