//! Loader step: which libcuda a program loads: the host's, one of the compat directory, or one installed in the
//! image.

mod cached_libcuda;
mod compat_selection;
mod entrypoint_probe;
mod image_libcuda;
mod ld_cache;
mod libcuda_candidate;
mod loader_step;
mod search_path;

pub(super) use self::cached_libcuda::CachedLibcuda;
pub(super) use self::compat_selection::{depends_on_unread_note, has_scattered_compat_libraries};
pub(super) use self::image_libcuda::{ImageLibcuda, image_libcuda};
pub(super) use self::loader_step::loader_step;
pub use self::search_path::GKE_DRIVER_DIRECTORY;
pub(super) use self::search_path::{SEARCH_PATH_VARIABLE as SEARCH_PATH, searches_gke_driver_directory};
