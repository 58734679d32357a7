//! What is told of a changed fleet: schema version 1, the same in print and in JSON.

use serde::Serialize;

use crate::compare::model::OnPool;
use crate::report::model;

/// What becomes of images in a changed fleet.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIf {
    /// 1.
    pub schema_version: u32,
    /// The program.
    pub tool: model::Tool,
    /// The fleet as it would be.
    pub fleet: model::Fleet,
    /// The changes, as asked.
    pub changes: Vec<String>,
    /// How many images there are.
    pub images: usize,
    /// All of it in sentences.
    pub summary: Vec<String>,
    /// The images of which a verdict changes, on pools that were there before.
    pub changed: Vec<Image>,
    /// What is ready for each pool that is new.
    pub ready: Vec<Ready>,
    /// The smallest driver for each pool.
    pub drivers: Vec<Driver>,
    /// Inputs that could not be read.
    pub errors: Vec<model::InputError>,
}

/// One image of which a verdict changes.
#[derive(Clone, Debug, Serialize)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// The pools on which it ends otherwise.
    pub pools: Vec<OnPool>,
}

/// What is ready for a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// The pool.
    pub pool: String,
    /// Images that start as they are built.
    pub ready: Vec<String>,
    /// Images that start after their code was compiled once more.
    pub jit: Vec<String>,
    /// Images that fail.
    pub fail: Vec<String>,
    /// Those of both that start as far as was seen: of some of their GPU code nothing is known.
    pub unseen: Vec<String>,
    /// Images of which it cannot be told.
    pub open: Vec<String>,
    /// Why it cannot be told of these, each reason once.
    pub reasons: Vec<Reason>,
    /// What would settle these, each once; fields of the pool first.
    pub missing: Vec<model::Missing>,
}

/// Why it cannot be told of some images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A sentence, as `check` has it.
    pub message: String,
    /// The images.
    pub images: Vec<String>,
}

/// The smallest driver with which all images of a pool start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Driver {
    /// The pool.
    pub pool: String,
    /// Its driver, as declared.
    pub driver: Option<String>,
    /// How many images run on it.
    pub images: usize,
    /// The known release from which on all start that start with some, as `compare` and `needs` tell it; none where no
    /// release does for all.
    pub smallest: Option<String>,
    /// The newest release with which they do, where newer ones are known with which some do not.
    pub largest: Option<String>,
    /// The oldest known release below the smallest with which they do all the same, while some in between do not.
    pub older: Option<String>,
    /// Whether all of them start with the driver that it has.
    pub enough: bool,
    /// Whether that is an older one with which they start all the same, and releases in between are none.
    pub below: bool,
    /// Whether it declares no GPU: they start with any that the driver supports.
    pub any_gpu: bool,
    /// Images that fail with every known release: no driver helps.
    pub never: Vec<String>,
    /// Images that start with no known release for certain.
    pub open: Vec<String>,
}
