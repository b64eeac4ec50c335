CLEAR GRAPH <http://example.org/g> ;
LOAD <http://example.org/towns.ttl>
