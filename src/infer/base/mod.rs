//! The base image: the family that its reference names, and the content of each build of that tag.

mod build;
mod cuda_image;
mod cuda_version;
mod framework_image;
mod possible_builds;

pub(in crate::infer) use self::build::{BaseBuild, BaseFamily};
pub(crate) use self::cuda_image::tag_version;
pub(in crate::infer) use self::cuda_version::infer_base_cuda;
pub(in crate::infer) use self::possible_builds::possible_base_builds;
