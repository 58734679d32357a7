//! What ends the reading of a layer.

/// Why a layer could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// The watcher wanted it to end.
    #[error("stopped")]
    Stopped,
    /// The packed bytes stopped coming.
    #[error("{}: {cause}", broken_off(*at))]
    Source {
        /// Packed bytes read before.
        at: u64,
        /// What the source says.
        cause: String,
    },
    /// The bytes are not as many as the manifest says.
    #[error("wrong size: the manifest says {expected} bytes, {found} came")]
    WrongSize {
        /// Bytes as the manifest says.
        expected: u64,
        /// Bytes that came; one more than expected where reading stopped there.
        found: u64,
    },
    /// The bytes are not those that the digest names.
    #[error("wrong digest: expected {expected}, the bytes received have {found}")]
    WrongDigest {
        /// The digest asked for.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// A digest that cannot be checked.
    #[error("the digest `{digest}` cannot be checked: only sha256 and sha512 are known")]
    UnknownDigest {
        /// As written, shortened.
        digest: String,
    },
    /// Packed in a way that is not read.
    #[error("packed with {format}, which is not read; gzip, zstd and plain tar archives are")]
    Format {
        /// The format.
        format: &'static str,
    },
    /// A zstd window that needs more memory than a layer may have.
    #[error("unpacking needs a zstd window of {needed} bytes, {limit} are the limit")]
    Window {
        /// What the stream asks for.
        needed: u64,
        /// What it may have.
        limit: u64,
    },
    /// The packing is broken.
    #[error("broken {format} data after {at} unpacked bytes: {cause}")]
    Packing {
        /// gzip or zstd.
        format: &'static str,
        /// Unpacked bytes before.
        at: u64,
        /// What the decoder says.
        cause: String,
    },
    /// The archive is broken in a way that no runtime unpacks.
    #[error("broken tar archive at unpacked byte {at}: {what}")]
    Tar {
        /// Where the header stands.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// The digest is of the unpacked bytes, and these are too many to check it.
    #[error("more than {limit} unpacked bytes, whose digest is left unchecked")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
}

impl LayerError {
    /// Whether the layer itself is at fault, and not a limit of this reader or whoever stopped it.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Source { .. }
            | Self::WrongSize { .. }
            | Self::WrongDigest { .. }
            | Self::Packing { .. }
            | Self::Tar { .. } => true,
            Self::Stopped
            | Self::UnknownDigest { .. }
            | Self::Format { .. }
            | Self::Window { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}

/// How far a stream came: a request that was refused has none.
fn broken_off(at: u64) -> String {
    if at == 0 { "nothing of it came".to_owned() } else { format!("the stream broke after {at} bytes") }
}
