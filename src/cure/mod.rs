//! The cure: changes that make an image start where it does not, each proved by the judge that said so.
//!
//! A candidate is a wish (another tag, another build, a variable) that the tables know to exist. It is written into the
//! *text* that holds it, the text is read again, and the whole road is gone with it on all pools on which the image
//! runs. What holds no text (an image in a registry, a description) is changed as observed, and the change is told
//! without edits; so are changes of the fleet.
//!
//! On pools where the image only may fail, changes are sought that make it start whatever is not known; failing that,
//! those with which less is left open, and those that help where what is not known of the image holds nothing. All of
//! these are told, and none is written: the image may need no change.
//!
//! Where no single change of the image does, a base, or its compat library, and a build of the framework are changed
//! together; then up to three changes of which each meets a later wall than the one before it, or helps on more pools.
//! Releases of a framework that are further away than the nearest ten are tried where all that is of no avail.
//!
//! On pools where nothing of all that helps, a newer driver with which they meet a later wall and a change of the image that
//! starts with it are told together.
//!
//! On a GPU that is newer than the release of the framework, a newer release together with a base of its CUDA is told
//! last, with the drivers by which each way of starting does.
//!
//! What is written still builds: a build lies in the indexes that have it, hashes are of one wheel, lists bound versions.
//! What would not build is told, to be done by hand.
//!
//! Where a [`Crew`] has threads to spare, changes are tried ahead; what is told is what one thread would tell, and so is the
//! number of trials after which a search ends.
//!
//! # What is smaller
//!
//! The order is that of [`Cost`](kind::Cost), and [`cost_order`] tells it in words, with what each [`Kind`] changes and how
//! safe it is. What starts only with PTX that is compiled for a newer GPU says nothing of the libraries of CUDA that it
//! calls, and is never safe.

mod base;
mod beside;
mod buildable;
mod bundled;
mod capabilities;
mod case;
mod chain;
mod compat;
mod conda;
mod crew;
mod environment;
mod extra;
mod floating;
mod framework;
mod host;
mod kind;
mod left;
mod libraries;
mod lists;
mod means;
mod moved;
mod named;
mod newer;
mod offer;
mod older;
mod pair;
mod platform;
mod pretend;
mod repair;
mod search;
mod served;
mod split;
mod stays;
mod supposed;
mod trial;
mod trials;
mod usual;
mod versions;
mod wish;
mod write;

pub use self::crew::Crew;
pub use self::kind::Kind;
pub use self::kind::cost_order;
pub use self::offer::offer;
pub use self::offer::offer_for_failures;
pub use self::repair::Repair;
pub use self::repair::follow;
pub use self::repair::repair;
pub use self::search::Found;
pub use self::search::PoolFate;
pub use self::search::Tried;
pub use self::wish::Companion;
pub use self::wish::PoolChange;
pub use self::wish::Wish;
use crate::report::kinds::FixSafety;

/// A change that may cure; nothing is said of what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is changed.
    pub kind: Kind,
    /// How far it is from what is there, within its kind.
    pub step: usize,
    /// One line.
    pub title: String,
    /// What else it may change.
    pub safety: FixSafety,
    /// The change.
    pub wish: Wish,
}
