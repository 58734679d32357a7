//! One set of tables, and whole tables as the rest of the program sees them.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::ArchitectureRow;
use crate::knowledge::rows::BaseFamilyRow;
use crate::knowledge::rows::BranchRow;
use crate::knowledge::rows::BrandNumberRow;
use crate::knowledge::rows::CodeFamilyRow;
use crate::knowledge::rows::CompatRow;
use crate::knowledge::rows::ContainerToolkitRow;
use crate::knowledge::rows::CudaImageRow;
use crate::knowledge::rows::DriverPackageRow;
use crate::knowledge::rows::EngineRow;
use crate::knowledge::rows::ErrorRow;
use crate::knowledge::rows::ForwardRow;
use crate::knowledge::rows::FrameworkBuildRow;
use crate::knowledge::rows::FrameworkImageRow;
use crate::knowledge::rows::FrameworkRow;
use crate::knowledge::rows::GpuRow;
use crate::knowledge::rows::MinorCompatRow;
use crate::knowledge::rows::PlainImageRow;
use crate::knowledge::rows::RequireRow;
use crate::knowledge::rows::RowInfo;
use crate::knowledge::rows::TargetSetRow;
use crate::knowledge::rows::TegraRow;
use crate::knowledge::rows::ToolkitRow;
use crate::knowledge::rows::TorchBuildRow;
use crate::knowledge::rows::TorchRow;
use crate::knowledge::rows::WithdrawnRow;
use crate::knowledge::tables;

macro_rules! whole_tables {
    ($($(#[$doc:meta])* $name:ident: $row:ident = $table:ident;)*) => {
        /// One set of tables, each sorted by its key.
        #[derive(Clone, Copy, Debug)]
        pub struct Tables {
            $($(#[$doc])* pub $name: &'static [$row],)*
        }

        /// The tables built into the program.
        pub(super) static BUILT_IN: Tables = Tables { $($name: tables::$table,)* };

        impl Tables {
            /// Where every row of every table comes from.
            pub(super) fn infos(&self) -> Vec<&'static RowInfo> {
                let mut infos = Vec::new();
                $(infos.extend(self.$name.iter().map(|row| &row.info));)*
                infos
            }
        }

        impl Knowledge {
            $($(#[$doc])*
            pub const fn $name(self) -> &'static [$row] {
                self.tables().$name
            })*
        }
    };
}

whole_tables! {
    /// Every GPU.
    gpus: GpuRow = GPUS;
    /// Every driver branch, oldest first.
    branches: BranchRow = DRIVER_BRANCHES;
    /// Every architecture row.
    architectures: ArchitectureRow = ARCHITECTURES;
    /// Every toolkit release, oldest first.
    toolkits: ToolkitRow = TOOLKITS;
    /// PTX versions and targets of every toolkit minor, oldest first.
    target_sets: TargetSetRow = TARGET_SETS;
    /// Driver floors of CUDA majors.
    minor_compats: MinorCompatRow = MINOR_COMPAT;
    /// Every compat package, oldest first.
    compat_packages: CompatRow = COMPAT_PACKAGES;
    /// The forward compatibility matrix.
    forward_matrix: ForwardRow = FORWARD_MATRIX;
    /// Every requirement string.
    requirements: RequireRow = REQUIREMENTS;
    /// Every CUDA base image version.
    cuda_images: CudaImageRow = CUDA_IMAGES;
    /// Every framework image.
    framework_images: FrameworkImageRow = FRAMEWORK_IMAGES;
    /// Every image family without NVIDIA content.
    plain_images: PlainImageRow = PLAIN_IMAGES;
    /// Every torch release, oldest first.
    torch_releases: TorchRow = TORCH_RELEASES;
    /// Every torch build.
    torch_builds: TorchBuildRow = TORCH_BUILDS;
    /// Every build of another framework.
    framework_builds: FrameworkBuildRow = FRAMEWORK_BUILDS;
    /// Every range of container toolkit versions, oldest first.
    container_toolkits: ContainerToolkitRow = CONTAINER_TOOLKITS;
    /// Every error code.
    errors: ErrorRow = ERRORS;
    /// What the images of a repository have in common.
    base_families: BaseFamilyRow = BASE_FAMILIES;
    /// Every distribution with GPU code.
    frameworks: FrameworkRow = FRAMEWORKS;
    /// Every package with driver libraries.
    driver_packages: DriverPackageRow = DRIVER_PACKAGES;
    /// Every engine that prefers CDI.
    engines: EngineRow = ENGINES;
    /// Every family of family-specific targets.
    code_families: CodeFamilyRow = CODE_FAMILIES;
    /// Every brand number.
    brands: BrandNumberRow = BRANDS;
    /// Every Tegra capability.
    tegra_capabilities: TegraRow = TEGRA_CAPABILITIES;
    /// Every withdrawn tag.
    withdrawn_tags: WithdrawnRow = WITHDRAWN_TAGS;
}
