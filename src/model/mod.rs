//! Values that all stages share: facts with evidence, causes of unknown values, image references and outcomes.

pub mod cause;
pub mod fact;
pub(crate) mod named_values;
pub mod note;
pub mod outcome;
pub mod package;
pub mod reference;
pub mod row_info;
