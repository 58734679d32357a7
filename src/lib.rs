//! imagelint reports on which node pools a GPU container will not start, and why, before anything is built or
//! scheduled.
//!
//! # The flow
//!
//! ```text
//! Dockerfile, scripts, lock files ─┐
//! layers, config, SBOM             ├─► observations ─► image facts ─► replay × hosts ─► verdicts ─► findings ─► report
//! image description, saved report ─┘    extract          infer          replay           judge       rules      report
//!                                                        ▲              ▲                │
//!                                      knowledge: tables with sources   fleet: pools     └─► fix: a change is applied to
//!                                                                                            the text and judged again
//! ```
//!
//! Data flows one way. A module imports modules listed before it, never one after it (`tests/project/architecture`).
//! A value that is unknown carries a [`cause::Cause`]; its wording and its remedy are in that one file.
//!
//! | layer | module | what it does | what it never does |
//! |---|---|---|---|
//! | values | [`nearest`], [`source`], [`cuda`], [`cause`], [`elf`], [`reference`], [`outcome`], [`parallel`] | plain values: spans, versions, requirements, causes, ELF contents, image references, outcomes | know a table or a file |
//! | database | [`knowledge`], [`fact`] | the compatibility database; values with evidence | have a default value |
//! | readers | [`toml_reader`], [`overlay`], [`context`], [`dockerfile`], [`edit`], [`builds`], [`cluster`], [`shell`], [`install`], [`describe`], [`fleet`], [`inventory`], [`settings`], [`installed`], [`layer`], [`oci`], [`lock`] | read Dockerfiles, build contexts, bake and Compose files, shell commands, installers, image descriptions, fleets, clusters, settings, package databases, layers, registries and lock files | judge |
//! | image | [`extract`], [`infer`] | observations of one input; conclusions about the image alone | see a pool |
//! | replay | [`replay`] | replays the start of a container on a host: the only judge | contain a version or the name of an image or package |
//! | results | [`rules`], [`report`], [`judge`], [`examples`], [`minimum_driver`], [`needs`], [`fix`], [`compare`], [`what_if`], [`recommend`] | rule pages and conditions; the report as data and in print; verdicts and findings; the oldest driver of a pool; the search over all nodes; verified fixes; effects of changed images or fleets; combinations for a fleet | decide how a start ends |
//! | front end | [`lsp`], [`cli`] | the language server; flags, files, exit codes | decide anything |
//!
//! # Invariants
//!
//! - **One judge.** [`replay::replay`] is a pure function of facts, host and knowledge. Rules describe its result.
//! - **No fact without evidence**, down to a place that a user can edit.
//! - **Absent is not unknown**, and unknown is never a pass.
//! - **Nothing is decided by comparing prose** (`tests/project/prose`).
//! - **Reading never fails as a whole**: one broken input never hides the verdicts of the others.
//! - **Offline**, except for an image that the user names, `lock` and `--pull`.
//! - **Output is sorted**. Below [`cli`], nothing reads the environment, and only timeouts read the clock.

pub mod builds;
pub mod cause;
pub mod cli;
pub mod cluster;
pub mod compare;
pub mod context;
pub mod cuda;
pub mod describe;
pub mod dockerfile;
pub mod edit;
pub mod elf;
pub mod examples;
pub mod extract;
pub mod fact;
pub mod fix;
pub mod fleet;
pub mod infer;
pub mod install;
pub mod installed;
pub mod inventory;
pub mod judge;
pub mod knowledge;
pub mod layer;
pub mod lock;
pub mod lsp;
pub mod minimum_driver;
pub mod nearest;
pub mod needs;
pub mod oci;
pub mod outcome;
pub mod overlay;
pub mod parallel;
pub mod recommend;
pub mod reference;
pub mod replay;
pub mod report;
pub mod rules;
pub mod settings;
pub mod shell;
pub mod source;
pub mod toml_reader;
pub mod what_if;
