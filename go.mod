module baton

go 1.26
