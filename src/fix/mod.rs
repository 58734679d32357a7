//! Fixes: changes that make an image start where it fails, each verified by judging the changed image again.
//!
//! A candidate is a change (another tag, another build, a variable) that exists according to the tables. It is
//! written into the *text*, the text is read again, and the result is judged on all pools on which the image runs.
//! An input without text (an image in a registry, a description) is changed as observed, and the change is reported
//! without edits; so are changes of the fleet.
//!
//! On pools where the image may fail, changes are sought that make it start whatever the unknown values are; failing
//! that, those with which less is undetermined, and those that help if the unread parts of the image contain nothing
//! relevant. All are reported, and none is written: the image may need no change.
//!
//! If no single change of the image suffices, a base, or its compat library, and a build of the framework are changed
//! together; then up to three changes, each of which fails at a later step than the one before, or helps on more pools.
//! Releases of a framework beyond the nearest ten are tried if none of that helps.
//!
//! On pools where none of that helps, a newer driver with which they fail at a later step and a change of the image
//! that starts with it are reported together.
//!
//! On a GPU that is newer than the release of the framework, a newer release with a base of its CUDA is reported
//! last, with the drivers that each route of the start needs.
//!
//! What is written still builds: a build is in its own indexes, hashes are of one wheel, lists bound versions.
//! A change that would not build is described as a manual one.
//!
//! Where a [`ThreadBudget`] has threads to spare, changes are tested ahead. The result is that of one thread, and so is
//! the number of trials after which a search ends.
//!
//! # What is smaller
//!
//! `kind::Cost` orders the changes. [`cost_order`] describes the order, what each [`ChangeKind`] changes and how safe
//! it is. What starts only with PTX that is compiled for a newer GPU says nothing of the libraries of CUDA that it
//! calls, and is never safe.

mod arch_lists;
mod assumed_base;
mod assumptions;
mod base_and_build_pair;
mod base_downgrades;
mod base_image_tags;
mod buildability;
mod bundled_libraries;
mod change_sequence;
mod changed_subject;
pub mod compare;
mod compat_library;
mod conda;
mod cuda_tag;
mod driver_and_image_change;
mod driver_capabilities;
mod environment_variables;
mod fix_context;
mod fleet_changes;
mod floating_tags;
mod framework;
mod image_platforms;
mod kind;
pub mod minimum_driver;
pub mod needs;
mod newer_release;
mod other_stages;
mod package_extras;
mod pool_split;
mod proposed_change;
pub mod recommend;
mod renamed_packages;
mod repair;
mod report_fixes;
mod search;
mod search_resources;
mod simulated_change;
mod single_changes;
mod stale_references;
mod tested_fix;
mod thread_budget;
mod trial;
mod trial_verdict;
mod versions;
pub mod what_if;
mod write;
mod written_urls;

pub use self::changed_subject::subject_with_texts;
pub use self::kind::cost_order;
pub use self::proposed_change::{FixCandidate, PackageEdit, PoolChange, ProposedChange};
pub use self::repair::{AppliedFixes, repair_subject};
pub use self::report_fixes::{add_fixes, add_fixes_to_errors};
pub use self::search::FixSearchResult;
pub use self::tested_fix::TestedFix;
pub use self::thread_budget::ThreadBudget;
pub use self::trial_verdict::TrialVerdict;
