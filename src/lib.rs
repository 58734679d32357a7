//! imagelint says on which node pools a GPU container will not start, and why, before anything is built or scheduled.
//!
//! # The map
//!
//! Data flows one way: inputs become observations, observations become facts, facts and hosts are
//! replayed, fates become verdicts and findings, and those are printed. A module imports modules listed
//! before it, never one after it (`tests/project/architecture`).
//!
//! | floor | module | what it does | what it never does |
//! |---|---|---|---|
//! | cellar | [`nearest`], [`source`], [`cuda`], [`elf`], [`reference`], [`outcome`], [`parallel`] | plain values | know a table or a file |
//! | ground | [`knowledge`], [`fact`] | tables with sources; values with evidence | have a default value |
//! | first | [`toml_reader`], [`overlay`], [`context`], [`dockerfile`], [`edit`], [`builds`], [`cluster`], [`shell`], [`install`], [`describe`], [`fleet`], [`inventory`], [`settings`], [`installed`], [`layer`], [`oci`], [`lock`] | read what people, registries and package managers wrote, and what layers hold | judge |
//! | second | [`extract`], [`infer`] | observations; conclusions about the image alone | see a pool |
//! | third | [`start`] | the replay of the start-up: the one judge | contain a version or the name of an image or package |
//! | fourth | [`rules`], [`report`], [`judge`], [`examples`], [`least`], [`needs`], [`cure`], [`compare`], [`what_if`], [`recommend`] | pages that tell, conditions that notice, the report as data and in print; the smallest driver of a pool; the search over all nodes; changes that cure, tried; what a change of images or of the fleet does; what to build for a fleet | decide a fate |
//! | door | [`lsp`], [`cli`] | what editors say and are told; flags, files, exit codes | decide anything |
//!
//! # Invariants
//!
//! - **One judge.** [`start::replay`] is a pure function of facts, host and knowledge. Rules narrate.
//! - **No fact without evidence**, down to a place that somebody can edit.
//! - **Absent is not unknown**, and unknown is never a pass.
//! - **Reading never fails as a whole**: one broken input never hides the verdicts of the others.
//! - **Offline**, but for an image that is asked about by name, `lock` and `--pull`.
//! - **Output is sorted**; below [`cli`] no environment, and no clock but for how long a registry or a helper
//!   is waited for.

pub mod builds;
pub mod cli;
pub mod cluster;
pub mod compare;
pub mod context;
pub mod cuda;
pub mod cure;
pub mod describe;
pub mod dockerfile;
pub mod edit;
pub mod elf;
pub mod examples;
pub mod extract;
pub mod fact;
pub mod fleet;
pub mod infer;
pub mod install;
pub mod installed;
pub mod inventory;
pub mod judge;
pub mod knowledge;
pub mod layer;
pub mod least;
pub mod lock;
pub mod lsp;
pub mod nearest;
pub mod needs;
pub mod oci;
pub mod outcome;
pub mod overlay;
pub mod parallel;
pub mod recommend;
pub mod reference;
pub mod report;
pub mod rules;
pub mod settings;
pub mod shell;
pub mod source;
pub mod start;
pub mod toml_reader;
pub mod what_if;
