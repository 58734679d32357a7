//! imagelint reports on which node pools a GPU container will not start, and why, before anything is built or
//! scheduled.
//!
//! # The flow
//!
//! ```text
//! Dockerfile, scripts, lock files ─┐
//! layers, config, SBOM             ├─► observations ─► image facts ─► replay × hosts ─► verdicts ─► findings ─► report
//! image description, saved report ─┘    extract          infer          replay           judge       rules      report
//!                                          ▲              ▲              ▲                │
//!        commands: shell ─► build ─► install              │           fleet: pools        └─► fix: a change is applied to
//!                                                         │                                   the text and judged again
//!          versions that pip or uv selects: resolve ◄─ knowledge: tables with sources
//! ```
//!
//! Data flows one way. A module imports modules listed before it, never one after it (`tests/project/architecture`).
//! A value that is unknown carries a [`model::cause::Cause`]; its wording and its remedy are in that one file.
//!
//! | stage | module | what it does | what it never does |
//! |---|---|---|---|
//! | values | [`text`], [`parallel`], [`cuda`], [`model`] | files with spans; work on several threads; versions and compute capabilities; facts with evidence, causes of unknown values, packages with versions and indexes, image references, outcomes | know a table or read the contents of a file |
//! | database | [`knowledge`] | the compatibility database, and the tables that a user adds | have a default value |
//! | installers | [`resolve`] | what pip and uv select for the requirements of a command | know a file or an image |
//! | readers | [`dockerfile`], [`build`], [`shell`], [`install`], [`layer`], [`describe`], [`fleet`], [`registry`] | read Dockerfiles with their contexts, bake and Compose files; commands and what they do to files; shell texts; installers; layers with ELF files and package databases; image descriptions; fleets, clusters and settings; registries and lock files | judge |
//! | image | [`extract`], [`infer`] | observations of one input; conclusions about the image alone | see a pool |
//! | replay | [`replay`] | replays the start of a container on a host: the only judge | contain a version or the name of an image or package |
//! | results | [`rules`], [`report`], [`judge`], [`fix`] | rule pages and conditions; the report as data and in print; verdicts and findings; verified fixes, recommendations, the oldest driver, comparisons | decide how a start ends |
//! | front end | [`cli`] | flags, files, exit codes, and the language server | decide anything |
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

pub mod build;
pub mod cli;
pub mod cuda;
pub mod describe;
pub mod dockerfile;
pub mod extract;
pub mod fix;
pub mod fleet;
pub mod infer;
pub mod install;
pub mod judge;
pub mod knowledge;
pub mod layer;
pub mod model;
pub mod parallel;
pub mod registry;
pub mod replay;
pub mod report;
pub mod resolve;
pub mod rules;
pub mod shell;
pub mod text;
