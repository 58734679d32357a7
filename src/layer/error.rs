//! The reasons why a layer cannot be read.

/// The error for a layer that cannot be read to its end or verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// The watcher wanted it to end.
    #[error("stopped")]
    Stopped,
    /// The packed bytes stopped coming.
    #[error("{}: {error}", broken_off(*at))]
    Source {
        /// Packed bytes read before.
        at: u64,
        /// The message of the source.
        error: String,
    },
    /// The number of bytes differs from that in the manifest.
    #[error("wrong size: the manifest specifies {expected} bytes, got {found}")]
    WrongSize {
        /// The number of bytes in the manifest.
        expected: u64,
        /// Bytes that came; one more than expected where reading stopped there.
        found: u64,
    },
    /// The bytes are not those that the digest names.
    #[error("wrong digest: expected {expected}, got {found}")]
    WrongDigest {
        /// The expected digest.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// A digest that cannot be checked.
    #[error("cannot check the digest `{digest}`: only sha256 and sha512 are supported")]
    UnknownDigest {
        /// As written, shortened.
        digest: String,
    },
    /// Packed in a way that is not read.
    #[error("compressed with {format}, which is not supported; use gzip, zstd or plain tar")]
    Format {
        /// The format.
        format: &'static str,
    },
    /// A zstd window that needs more memory than a layer may have.
    #[error("decompression needs a zstd window of {needed} bytes, above the limit of {limit}")]
    Window {
        /// The size that the stream requires.
        needed: u64,
        /// What it may have.
        limit: u64,
    },
    /// The packing is broken.
    #[error("broken {format} data after {at} decompressed bytes: {error}")]
    Packing {
        /// gzip or zstd.
        format: &'static str,
        /// Unpacked bytes before.
        at: u64,
        /// The message of the decoder.
        error: String,
    },
    /// The archive is broken in a way that no runtime unpacks.
    #[error("broken tar archive at decompressed byte {at}: {what}")]
    Tar {
        /// Where the header stands.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// The digest is of the unpacked bytes, and these are too many to check it.
    #[error("more than {limit} decompressed bytes, so its digest is unchecked")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
}

impl LayerError {
    /// Whether the layer or its source is at fault, rather than a limit of this reader or a cancellation.
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

/// Describes where a stream broke: after a number of bytes, or before the first one for a refused request.
fn broken_off(at: u64) -> String {
    if at == 0 { "no data received".to_owned() } else { format!("the stream broke after {at} bytes") }
}
