//! The result for a changed fleet: schema version 1, the same in print and in JSON.

use serde::Serialize;

use crate::fix::compare::model::ComparedPool;
use crate::report::model;

/// The verdicts on images in a changed fleet.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIfReport {
    /// Version of this schema: 1.
    pub schema_version: u32,
    /// The program and its version.
    pub tool: model::Tool,
    /// The fleet after the changes.
    pub fleet: model::Fleet,
    /// The changes, as requested.
    pub changes: Vec<String>,
    /// Number of images.
    pub images: usize,
    /// The report as a whole, in sentences.
    pub summary: Vec<String>,
    /// The images with a changed verdict on an existing pool.
    pub changed: Vec<WhatIfImage>,
    /// Readiness of the images for each new pool.
    pub ready: Vec<PoolReadiness>,
    /// The smallest driver for each pool.
    pub drivers: Vec<WhatIfDriver>,
    /// Inputs that could not be read.
    pub errors: Vec<model::InputError>,
}

/// An image with a changed verdict.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIfImage {
    /// Name of the image.
    pub name: String,
    /// The pools on which the verdict changes.
    pub pools: Vec<ComparedPool>,
}

/// Which images are ready for a new pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolReadiness {
    /// Name of the pool.
    pub pool: String,
    /// Images that start directly, without compiling PTX.
    pub ready: Vec<String>,
    /// Images that start after the driver has compiled their PTX.
    pub jit: Vec<String>,
    /// Images that fail.
    pub fail: Vec<String>,
    /// Images among those that start of which some GPU code was not inspected.
    pub unseen: Vec<String>,
    /// Images whose verdict is unknown.
    pub open: Vec<String>,
    /// Why the verdict on these is unknown, each reason once.
    pub reasons: Vec<UnknownVerdictReason>,
    /// Facts that would resolve the unknown verdicts, each once; fields of the pool first.
    pub missing: Vec<model::Missing>,
}

/// A reason for unknown verdicts, with the images that it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnknownVerdictReason {
    /// The reason as a sentence, as in the output of `check`.
    pub message: String,
    /// Names of the images.
    pub images: Vec<String>,
}

/// The smallest driver with which all images of a pool start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhatIfDriver {
    /// Name of the pool.
    pub pool: String,
    /// The driver that the pool declares.
    pub driver: Option<String>,
    /// Number of images that run on the pool.
    pub images: usize,
    /// The smallest known driver release with which every image starts that starts with any; `None` if no release
    /// does for all.
    pub smallest: Option<String>,
    /// The newest driver release with which they start, if some do not start with a newer known one.
    pub largest: Option<String>,
    /// The oldest known release below the smallest with which they start as well, although some in between fail.
    pub older: Option<String>,
    /// Whether all of them start with the declared driver.
    pub enough: bool,
    /// Whether the declared driver is such an older one, below the smallest.
    pub below: bool,
    /// Whether the pool declares no GPU, so that the images start on any GPU that the driver supports.
    pub any_gpu: bool,
    /// Images that fail with every known driver release.
    pub never: Vec<String>,
    /// Images of which it is unknown whether any known driver release starts them.
    pub open: Vec<String>,
}
