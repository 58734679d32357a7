//! Writes a proposed change as text edits. Edits are only proposals: the edited texts are read and judged again.

mod change_edits;
mod dockerfile_texts;
mod index_urls;
mod no_deps_option;
mod nvcc;
mod nvcc_options;
mod package_build;
mod private_index;
mod removed_package;
mod sole_index;
mod unpinned_framework;
mod value_edits;

pub(super) use self::change_edits::{edit_variants, has_platform_flag};
pub(super) use self::dockerfile_texts::EditVariant;
