//! The closed vocabulary of facts: name, type and meaning, from one table.

macro_rules! keys {
    ($($variant:ident = $name:literal, $kind:literal, $doc:literal;)*) => {
        /// Which fact. In a name, `*` stands for the variable, path or component that the fact is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FactKey { $(#[doc = $doc] $variant,)* }

        impl FactKey {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name, with `*` in place of the variable, path or component that the fact is about.
            pub const fn pattern(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        /// Every key: name, type, meaning.
        pub const VOCABULARY: &[(&str, &str, &str)] = &[$(($name, $kind, $doc)),*];
    };
}

keys! {
    Base = "image.base", "text", "Image reference in FROM.";
    Platforms = "image.platforms", "list", "Platforms of the manifests.";
    Env = "env.*", "text", "Variable of the image configuration.";
    Package = "package.*", "text", "Package as requested.";
    Dependency = "dependency.*", "text", "Package that some releases of an installed package require.";
    Requirements = "requirements.*", "text", "File with the list of packages that a command installs.";
    File = "file.*", "text", "File of the image.";
    FileNeeds = "needs.*", "list", "Libraries that a file requires.";
    Code = "code.*", "list", "Targets of the GPU code in a library.";
    BuildAsk = "build.asks.*", "text", "Command that reads the GPU or driver of the build machine.";
    Complete = "image.complete", "list", "Families with a complete list.";
    ArchList = "build.arch_list.*", "list", "GPU list of a command that compiles.";
    CudaRuntime = "image.cuda_runtime", "version", "CUDA runtime of code outside of packages.";
    TagNow = "image.base.tag_now", "list", "Current requirement of the base image's tag, if it differs from the \
        pinned digest.";
    BaseCuda = "image.base.cuda", "version", "CUDA toolkit of the base image.";
    Compat = "image.compat", "list", "User-mode drivers for forward compatibility under /usr/local/cuda/compat.";
    DriverLibraries = "image.driver_libraries", "list", "Driver libraries of the image outside of the compat \
        directory.";
    Entrypoint = "image.entrypoint", "list", "Program that the image starts.";
    Command = "image.command", "list", "CMD of the image.";
    CompatProbe = "image.compat_probe", "list", "Entrypoint that tries cuda-compat and falls back to the driver \
        of the host.";
    LibraryDirectory = "image.library_directory", "text", "Directory of the mounted driver libraries.";
    LdConf = "image.ld_conf", "list", "Directories that the image configures for ldconfig.";
    LdCache = "image.ld_cache", "text", "Loader cache of the image.";
    Firmware = "image.firmware", "list", "Image files at the paths of the driver firmware.";
    ComponentVersion = "*.version", "text", "Version of a component.";
    ComponentVariant = "*.variant", "text", "Build variant of a component, such as cu124 or cpu.";
    ComponentCuda = "*.cuda", "version", "CUDA runtime of a component.";
    ComponentCode = "*.code", "list", "GPU code of a component.";
    ComponentFloor = "*.lowest_capability", "text", "Lowest supported compute capability of a component, if its \
        GPU code is otherwise unknown.";
    ComponentNeeds = "*.needs", "list", "Libraries outside of its package that a component needs to start.";
    ComponentOpens = "*.opens", "list", "Libraries that a component opens at run time.";
}

impl FactKey {
    /// Returns the name of the fact about a variable, path or component.
    pub fn name_for(self, of: Option<&str>) -> String {
        match of {
            Some(of) => self.pattern().replacen('*', of, 1),
            None => self.pattern().to_owned(),
        }
    }
}
