//! wavecrew-store
